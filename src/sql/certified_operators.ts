import type { CertifiedOperators, Engine } from "./dialect.ts";

/**
 * The operators, by class of column, whose results in memory are exactly those of an engine's SQL.
 * Written by `tests/invariants/certify_test.ts`, which fails when one is wrong or could be added.
 */
export const certifiedOperators: Readonly<Record<Engine, CertifiedOperators>> = {
  "sqlite": {
    "text":
      "== != > >= < <= =in= =out= =between= =nbetween= %= !%= =ilike= =nilike= =ieq= =ine= =contains= =startswith= =endswith= =icontains= =istartswith= =iendswith= =length= =minlength= =maxlength= =isnull= =isempty=",
    "integer": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "bigint": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "real": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "decimal": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "long decimal": "",
    "boolean": "== != =in= =out= =isnull= =isempty=",
    "timestamp": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "date": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "uuid": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "json": "=isnull= =isempty=",
    "bytes": "=isnull= =isempty=",
  },
  "postgres": {
    "text":
      "== != > >= < <= =in= =out= =between= =nbetween= %= !%= =ilike= =nilike= =ieq= =ine= =contains= =startswith= =endswith= =icontains= =istartswith= =iendswith= =length= =minlength= =maxlength= =isnull= =isempty=",
    "integer": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "bigint": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "real": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "decimal": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "long decimal": "== != > >= < <= =in= =out= =between= =nbetween=",
    "boolean": "== != =in= =out= =isnull= =isempty=",
    "timestamp": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "date": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "uuid": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
    "json": "=isnull= =isempty=",
    "bytes": "=isnull= =isempty=",
  },
};

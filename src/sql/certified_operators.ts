import type { CertifiedOperators, Engine } from "./dialect.ts";

/**
 * The operators, by class of column, whose results in memory equal those of an engine's SQL.
 * `tests/invariants/certify_test.ts` writes this list, and fails if an entry is wrong or missing.
 */
export const certifiedOperators: Readonly<Record<Engine, CertifiedOperators>> = {
  "sqlite": {
    "text":
      "== != > >= < <= =in= =out= =between= =nbetween= %= !%= =ilike= =nilike= =ieq= =ine= =contains= =icontains= =startswith= =istartswith= =endswith= =iendswith= =length= =minlength= =maxlength= =isnull= =isempty=",
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
    "bytes": "== != =in= =out= =isnull= =isempty=",
  },
  "postgres": {
    "text":
      "== != > >= < <= =in= =out= =between= =nbetween= %= !%= =ilike= =nilike= =ieq= =ine= =contains= =icontains= =startswith= =istartswith= =endswith= =iendswith= =length= =minlength= =maxlength= =isnull= =isempty=",
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
    "bytes": "== != =in= =out= =isnull= =isempty=",
  },
};

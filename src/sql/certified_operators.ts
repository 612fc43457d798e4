import type { CertifiedOperators, Engine } from "./dialect.ts";

const common = {
  "text":
    "== != > >= < <= =in= =out= =between= =nbetween= %= !%= =ilike= =nilike= =ieq= =ine= =contains= =icontains= =startswith= =istartswith= =endswith= =iendswith= =length= =minlength= =maxlength= =isnull= =isempty=",
  "integer": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
  "bigint": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
  "real": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
  "decimal": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
  "boolean": "== != =in= =out= =isnull= =isempty=",
  "timestamp": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
  "date": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
  "uuid": "== != > >= < <= =in= =out= =between= =nbetween= =isnull= =isempty=",
  "json": "=isnull= =isempty=",
  "bytes": "== != =in= =out= =isnull= =isempty=",
};

/** The operators with equal results in memory and in SQL. `certify_test.ts` writes this list. */
export const certifiedOperators: Readonly<Record<Engine, CertifiedOperators>> = {
  sqlite: { ...common, "long decimal": "" },
  postgres: { ...common, "long decimal": "== != > >= < <= =in= =out= =between= =nbetween=" },
};

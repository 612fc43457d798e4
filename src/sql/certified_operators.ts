import type { CertifiedOperators, Engine } from "./dialect.ts";

/** The operators of both engines. The engines differ only in long decimals. */
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

/**
 * For each class of columns, the operators with equal results in memory and in an engine's SQL.
 * `tests/invariants/certify_test.ts` writes this list, and fails if an entry is wrong or missing.
 */
export const certifiedOperators: Readonly<Record<Engine, CertifiedOperators>> = {
  sqlite: { ...common, "long decimal": "" },
  postgres: { ...common, "long decimal": "== != > >= < <= =in= =out= =between= =nbetween=" },
};

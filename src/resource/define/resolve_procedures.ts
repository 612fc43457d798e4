import { costOptionRule, powGateOptionRule } from "../../guard/resource_protection_options.ts";
import type { DatabaseFunction } from "../../db/functions/database_function.ts";
import { groupOf } from "../../options/option.ts";
import { callback, flag, testedValue } from "../../options/option_kinds.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Procedure } from "../model/procedure.ts";
import type { StandardSchema } from "../../schema/standard_schema.ts";

const schema = testedValue<StandardSchema>(
  "a Standard Schema, as zod, valibot and arktype make them",
  isSchema,
).required();

export const procedureOptionRules = groupOf<Procedure>()({
  input: schema,
  output: schema,
  public: flag(),
  handler: callback<Procedure["handler"]>().required(),
  databaseFunction: testedValue<DatabaseFunction>(
    "a function from db.introspect({ functions })",
    (given) => typeof given === "object" && given !== null && "args" in given,
  ),
  permits: callback<NonNullable<Procedure["permits"]>>(),
  cost: costOptionRule,
  pow: powGateOptionRule,
}).asGiven<Procedure>();

/** Returns a Map, because an object inherits names like `constructor`. Throws for a bad name. */
export function resolveProcedures(
  procedures: Readonly<Record<string, Procedure>>,
  { name: table }: TableInfo,
): ReadonlyMap<string, Procedure> {
  const unusable = Object.keys(procedures).find((name) => !namePattern.test(name));
  if (unusable === undefined) return new Map(Object.entries(procedures));
  throw new Error(
    `Cannot serve "${table}": procedures names one ${JSON.stringify(unusable)}: ` +
      'take letters, digits, "_", "-" and "."',
  );
}

/** A name that is not percent-encoded in a path, and is no dot segment such as `.` or `..`. */
const namePattern = /^(?!\.+$)[\w.-]{1,100}$/;

function isSchema(given: unknown): boolean {
  // The schemas of arktype are functions.
  const isHolder = typeof given === "function" || (typeof given === "object" && given !== null);
  const standard: unknown = isHolder && "~standard" in given ? given["~standard"] : undefined;
  return typeof standard === "object" && standard !== null && "validate" in standard &&
    typeof standard.validate === "function";
}

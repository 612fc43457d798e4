import type { OperationProtection } from "../../guard/operation_protection.ts";
import { requireKnownOptions } from "../../problem/require_known_options.ts";
import { showValue } from "../../problem/show_value.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Procedure } from "./procedure.ts";

/**
 * Resolves the declared procedures of a resource, by name: a map, so that `constructor` is no
 * procedure. Throws a plain Error for an invalid one.
 */
export function resolveProcedures(
  procedures: unknown = {},
  { name: table }: TableInfo,
): ReadonlyMap<string, Procedure> {
  const subject = `Cannot serve "${table}": procedures`;
  requireObject(procedures, subject);
  const resolved = new Map<string, Procedure>();
  for (const [name, procedure] of Object.entries<unknown>({ ...procedures })) {
    if (!namePattern.test(name)) {
      throw new Error(
        `${subject} names one ${JSON.stringify(name)}: take letters, digits, "_", "-" and "."`,
      );
    }
    requireProcedure(procedure, `${subject}.${name}`);
    resolved.set(name, procedure);
  }
  return resolved;
}

/** Needs no percent-encoding in a path, and is no dot segment as `.` and `..` are. */
const namePattern = /^(?!\.+$)[\w.-]{1,100}$/;

/** Resolves the protection of each procedure that has one. */
export function resolveProcedureProtections(
  procedures: ReadonlyMap<string, Procedure>,
  protect: (procedure: Procedure, name: string) => OperationProtection | null,
): ReadonlyMap<string, OperationProtection> {
  return new Map([...procedures].flatMap(([name, procedure]) => {
    const protection = protect(procedure, name);
    return protection === null ? [] : [[name, protection]];
  }));
}

const knownOptions: Readonly<Record<keyof Procedure, true>> = {
  input: true,
  output: true,
  public: true,
  handler: true,
  cost: true,
  pow: true,
};

function requireProcedure(
  procedure: unknown,
  subject: string,
): asserts procedure is Procedure {
  requireObject(procedure, subject);
  requireKnownOptions(procedure, knownOptions, subject);
  // The members are only inspected, so that they may be of any type.
  const { input, output, handler, public: open } = procedure as Partial<
    Record<keyof Procedure, unknown>
  >;
  requireSchema(input, `${subject}.input`);
  requireSchema(output, `${subject}.output`);
  if (typeof handler !== "function") {
    throw new Error(`${subject}.handler must be a function, not ${showValue(handler)}`);
  }
  if (open !== undefined && typeof open !== "boolean") {
    throw new Error(`${subject}.public must be true or false, not ${showValue(open)}`);
  }
}

function requireSchema(schema: unknown, subject: string): void {
  // The schemas of arktype are functions.
  const isHolder = typeof schema === "function" || (typeof schema === "object" && schema !== null);
  const standard: unknown = isHolder && "~standard" in schema ? schema["~standard"] : undefined;
  if (
    typeof standard === "object" && standard !== null && "validate" in standard &&
    typeof standard.validate === "function"
  ) return;
  throw new Error(
    `${subject} must be a Standard Schema, as zod, valibot and arktype make them, ` +
      `not ${showValue(schema)}`,
  );
}

function requireObject(value: unknown, subject: string): asserts value is object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw new Error(`${subject} must be an object, not ${showValue(value)}`);
}

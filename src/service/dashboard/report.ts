import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import type { User } from "../../auth/authorize.ts";
import type { Resource } from "../../resource/model/resource.ts";

export interface Report {
  readonly name: string;
  readonly method: "GET" | "POST";
  /** True if the action changes data, so a read-only dashboard refuses it. */
  readonly writes?: true;
  /** True if only operators with a role in `adminUI.roles.administer` may use the report. */
  readonly administers?: true;
  /** Returns the id of the account or API key that the action changes, for the audit. */
  target?(body: unknown): string;
  answer(request: ReportRequest): MaybePromise<unknown>;
}

interface ReportRequest {
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly operator: DashboardOperator;
}

export interface DashboardOperator {
  /** Null for an operator without an account: on this machine, or accepted by `authorize`. */
  readonly user: User | null;
  readonly isReadOnly: boolean;
  /** True if the role of the operator may only read. Then the operator sees no SQL. */
  readonly isViewer: boolean;
  /** True if the operator may manage accounts, sessions and API keys. */
  readonly isAdministrator: boolean;
}

export function requireParameter(query: URLSearchParams, name: string): string {
  const text = query.get(name);
  if (text !== null && text !== "") return text;
  throw invalidParameter(`Cannot read the report: the parameter ${name} is missing`);
}

export function integerParameter(
  query: URLSearchParams,
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): number | null {
  const text = query.get(name);
  if (text === null || text === "") return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (value >= from && value <= to) return value;
  throw invalidParameter(
    `Cannot read the report: ${name} must be a whole number from ${from} to ${to}`,
  );
}

/** Finds a resource by its path below the base path or by its name. Throws a 400 if unknown. */
export function requireResource(
  name: string,
  resources: readonly Resource[],
  basePath: string,
): Resource {
  const found = resources.find(({ url }) => url === `${basePath}/${name}`) ??
    resources.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw invalidParameter(`Cannot read the report: there is no resource "${name}"`);
}

export function requireObjectMember(
  body: unknown,
  name: string,
): Readonly<Record<string, unknown>> {
  const value = memberOf(body, name);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new Problem("invalid-body", `Cannot do this: "${name}" must be an object`);
}

export function requireStringMember(body: unknown, name: string): string {
  const value = memberOf(body, name);
  if (typeof value === "string" && value !== "") return value;
  throw new Problem("invalid-body", `Cannot do this: "${name}" must be a string`);
}

export function optionalStringMember(body: unknown, name: string): string | null {
  const value = memberOf(body, name);
  return value === undefined || value === null || value === ""
    ? null
    : requireStringMember(body, name);
}

export function memberOf(body: unknown, name: string): unknown {
  return typeof body === "object" && body !== null && Object.hasOwn(body, name)
    ? Reflect.get(body, name)
    : undefined;
}

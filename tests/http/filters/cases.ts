import type { Database } from "../../../mod.ts";
import type { Answer, Service } from "../../support/http.ts";
import type { Sight } from "./filter_sql.ts";
import type { TableName } from "./model.ts";
import type { Rows } from "./rows.ts";
import type { Scopes } from "./tables.ts";
import type { Tree } from "./tree.ts";

/** How a filter reaches the service. */
export const forms = [
  "text",
  "printed text",
  "printed filter",
  "count",
  "aggregate",
  "include",
  "statement",
  "text under a scope",
  "scope",
  "filter in code",
  "create",
  "update",
] as const;
export type Form = typeof forms[number];

/** A service over the tables of the check, whose rows and scopes change. */
export interface Stand extends Service {
  readonly scopes: Scopes;
  rows: Rows;
}

/** A comparison of the service with the oracle. */
export interface Case {
  readonly form: Form;
  readonly table: TableName;
  readonly tree: Tree;
  /** One of the readers, whose rights are fixed. */
  readonly reader: string;
  /** The reader may read only what this filter lets through of its table. */
  readonly scope: { readonly table: TableName; readonly tree: Tree } | null;
  /** Of how the filters are written. */
  readonly seed: number;
}

/** The keys of rows in their order, or what became of a write. */
export type Outcome = string;

/** The forms in which code states a filter for all rows, as a scope does. */
const scopeForms: readonly Form[] = ["scope", "printed filter", "statement", "create", "update"];

export function isScopeForm(form: Form): boolean {
  return scopeForms.includes(form);
}

export function engineOf({ dialect }: Database): Sight["engine"] {
  return dialect.engine === "postgres" ? "postgres" : "sqlite";
}

/** An answer that no case expects, with what the service observed of it. */
export function failure({ observations }: Stand, { status, body }: Answer, filter: string): string {
  const seen = status === 500 ? Deno.inspect(observations.at(-1), { depth: 3 }) : "";
  return `${status} ${JSON.stringify(body)} for ${filter} ${seen}`;
}

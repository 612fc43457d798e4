import { DatabaseError } from "../../../db/database_error.ts";
import { keyFilter, parseKey } from "../../../plan/key.ts";
import { invalidParameter } from "../../../problem/problem.ts";
import type { Resource } from "../../../resource/model/resource.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import {
  optionalStringMember,
  type Report,
  requireResource,
  requireStringMember,
} from "../report.ts";
import type { Access, User } from "../../../auth/authorize.ts";
import { grantIfAllowed } from "../../../resource/authorize_related.ts";
import { isPolicy } from "../../../auth/policy.ts";
import { fetchCount } from "../../../db/rows.ts";
import { and, type Filter, termsOnSameRow } from "../../../filter/filter.ts";
import { printMaskedFilter } from "../print_masked_filter.ts";
import { readViewedUser } from "../view_token.ts";

export interface AccessRight {
  readonly access: Access;
  /** The name of the scope if it is a named policy, else null. */
  readonly policy: string | null;
  readonly rows: "all" | "some" | "none";
  /** The rows' condition in the filter language. Values of hidden columns are masked. */
  readonly condition: string;
  /** The number of rows. Null for `create`, for a single row, or if counting took too long. */
  readonly count: number | null;
  readonly passes?: boolean;
  /** The parts of the condition. `passes` is true if the requested row meets the part. */
  readonly terms?: readonly { readonly condition: string; readonly passes: boolean }[];
}

/** The body is `{ user, resource, id }`, with `id` for one row. `"user": null` means anonymous. */
export function createRightsAction(
  { resources, basePath, parseUser }: {
    readonly resources: readonly Resource[];
    readonly basePath: string;
    readonly parseUser: (value: unknown) => User | null;
  },
): Report {
  return {
    name: "rights",
    method: "POST",
    async answer({ body }): Promise<{ readonly rights: readonly AccessRight[] }> {
      const user = readViewedUser(body, parseUser);
      const resource = requireResource(requireStringMember(body, "resource"), resources, basePath);
      const id = optionalStringMember(body, "id");
      const key = id === null ? null : parseKey(id, resource.table);
      if (id !== null && key === null) {
        throw invalidParameter(`Cannot explain rights: no row has the id ${id}`);
      }
      const row = key === null ? null : keyFilter(key, resource.table);
      const rights = accesses.map((access) => rightTo(access, { user, resource, row }));
      return { rights: await Promise.all(rights) };
    },
  };
}

const accesses: readonly Access[] = ["read", "create", "update", "delete", "subscribe"];

interface Question {
  readonly user: User | null;
  readonly resource: Resource;
  readonly row: Filter | null;
}

async function rightTo(access: Access, question: Question): Promise<AccessRight> {
  const { user, resource, row } = question;
  const { policy, table, undeleted, served } = resource;
  const scope = policy.scopes.get(access);
  const name = user !== null && isPolicy(scope) ? scope.policyName : null;
  const grant = await grantIfAllowed(access, user, resource);
  if (grant === null) return { access, policy: name, rows: "none", condition: "", count: 0 };
  const isShown = (column: ColumnInfo, of: TableInfo) =>
    (of === table ? resource : served.get(of))?.fields.readable.includes(column) ?? false;
  const shown = (filter: Filter) => printMaskedFilter(filter, table, isShown);
  const right = {
    access,
    policy: name,
    rows: grant.rows.kind === "all" ? "all" as const : "some" as const,
    condition: shown(grant.rows),
  };
  const matches = async (filter: Filter) => await count(filter, resource) === 1;
  if (row === null || access === "create") {
    const rows = and(grant.rows, undeleted);
    return { ...right, count: access === "create" ? null : await count(rows, resource) };
  }
  const terms = grant.rows.kind === "and" || grant.rows.kind === "or"
    ? termsOnSameRow(grant.rows)
    : [];
  return {
    ...right,
    count: null,
    passes: await matches(and(row, grant.rows, undeleted)),
    terms: await Promise.all(terms.map(async (term) => ({
      condition: shown(term),
      passes: await matches(and(row, term)),
    }))),
  };
}

async function count(where: Filter, { table, driver, reader }: Resource): Promise<number | null> {
  const { signal } = new AbortController();
  const limits = { identity: "dashboard", signal, maxBytes: 1024, timeoutMs: maxCountMs };
  try {
    return await fetchCount(driver.reads(limits), { kind: "count", table, where }, reader);
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "too-slow") return null;
    throw error;
  }
}

const maxCountMs = 1_000;

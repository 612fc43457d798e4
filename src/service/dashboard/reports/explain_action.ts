import { authorize } from "../../../auth/authorize.ts";
import { databaseProblem } from "../../../db/database_problem.ts";
import type { Driver } from "../../../db/driver.ts";
import type { Resource } from "../../../resource/model/resource.ts";
import { parseLimit } from "../../../resource/http/query_parameters.ts";
import { noRelatedWrites } from "../../../resource/rights/related_grants.ts";
import {
  parseListQuery,
  planList,
  resourcesReadByList,
} from "../../../resource/read/list_query.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { memberOf, optionalStringMember, requireStringMember } from "../action_body.ts";
import type { Report } from "../report.ts";
import { requireResource } from "../report_query.ts";
import type { ServedResources } from "../resource_description.ts";
import { authorizeAdditional } from "../../../resource/authorize_related.ts";

export interface ExplainedList {
  /** The SQL statement with placeholders. */
  readonly sql: string;
  /** The number of bound values. */
  readonly parameters: number;
  /** The database's query plan: a line for each node, indented by depth. */
  readonly plan: readonly string[];
}

/**
 * Creates the action that shows the query plan of the operator's list, without reading rows. The
 * body is `{ resource, filter, orderBy, select, limit }`, with the syntax and problems of a list.
 */
export function createExplainAction(
  { resources, basePath }: Pick<ServedResources, "resources" | "basePath">,
): Report {
  return {
    name: "explain",
    method: "POST",
    async answer({ body }): Promise<ExplainedList> {
      const resource = requireResource(requireStringMember(body, "resource"), resources, basePath);
      const query = new Map<string, string>();
      for (const name of ["filter", "orderBy", "select"]) {
        const text = optionalStringMember(body, name);
        if (text !== null) query.set(name, text);
      }
      const limit = memberOf(body, "limit");
      if (limit !== undefined) query.set("limit", String(limit));
      const statement = await statementOf(query, resource);
      const { driver, readCosts: { queryTimeoutMs } } = resource;
      const plan = await planOf(statement, driver, queryTimeoutMs).catch((error) => {
        throw databaseProblem(error, "read");
      });
      return { sql: statement.text, parameters: statement.values.length, plan };
    },
  };
}

/** Returns the SQL statement for a list's first page. */
async function statementOf(
  query: ReadonlyMap<string, string>,
  resource: Resource,
): Promise<Statement> {
  const selection = parseListQuery(query, resource);
  const grant = await authorize("read", null, resource.policy);
  const reached = resourcesReadByList(selection);
  const needed = { alsoAccess: undefined, reached, writes: noRelatedWrites };
  const related = await authorizeAdditional(needed, null, resource);
  const rights = { grant, related: related.related };
  const limit = parseLimit(query.get("limit") ?? null, resource.page);
  // A list reads one row above its limit, to find out if there is another page.
  const { read } = planList(selection, rights, resource, limit + 1);
  return resource.reader.compile(read);
}

const maxPlanBytes = 1024 * 1024;

/** Returns the database's query plan for a statement, without running the statement. */
async function planOf(
  { text, values }: Statement,
  driver: Driver,
  timeoutMs: number,
): Promise<readonly string[]> {
  const { dialect: { explain } } = driver;
  const { signal } = new AbortController();
  const reads = driver.reads({ identity: "dashboard", signal, maxBytes: maxPlanBytes, timeoutMs });
  const { rows } = await reads.query({ text: explain.statement(text), values });
  return explain.lines(rows);
}

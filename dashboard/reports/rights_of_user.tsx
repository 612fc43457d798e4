import { useEffect, useState } from "preact/hooks";
import type { AccessRight } from "../../src/service/dashboard/reports/rights_report.ts";
import { act } from "../service/call.ts";
import type { ResourceDescription } from "../service/facts.ts";
import { toError } from "../service/use_report.ts";
import type { ViewedUser } from "../service/use_rows.ts";
import { Problem } from "../parts/problem.tsx";
import { type RecordColumn, RecordTable } from "../parts/record_table.tsx";

/** The rows of a resource that a user may access, and why a chosen row is one of them. */
export function RightsOfUser({ user, resources }: {
  readonly user: ViewedUser | null;
  readonly resources: readonly ResourceDescription[];
}) {
  const [resource, setResource] = useState(resources[0]?.path ?? "");
  const [id, setId] = useState("");
  const [answer, setAnswer] = useState<readonly AccessRight[] | Error | null>(null);
  const name = user?.id ?? "a caller without a credential";
  const who = JSON.stringify(user);
  useEffect(() => {
    let hasEnded = false;
    const row = id.trim() === "" ? {} : { id: id.trim() };
    act("rights", { user: JSON.parse(who), resource, ...row }).then((body) => {
      // The contract of the action says what it gives.
      if (!hasEnded) setAnswer((body as { rights: readonly AccessRight[] }).rights);
    }).catch((error) => hasEnded || setAnswer(toError(error)));
    return () => {
      hasEnded = true;
    };
  }, [who, resource, id]);
  return (
    <section aria-label={`Rights of ${name}`}>
      <h2>Rights of {name}</h2>
      <form class="form row" onSubmit={(event) => event.preventDefault()}>
        <label>
          Resource
          <select
            value={resource}
            onChange={({ currentTarget }) => setResource(currentTarget.value)}
          >
            {resources.map(({ path, title }) => <option key={path} value={path}>{title}</option>)}
          </select>
        </label>
        <label class="grows">
          Id of a row; empty for all rows
          <input
            class="code"
            value={id}
            autocomplete="off"
            onInput={({ currentTarget }) => setId(currentTarget.value)}
          />
        </label>
      </form>
      {answer instanceof Error
        ? <Problem error={answer} what="Cannot show the rights" />
        : answer && (
          <RecordTable
            label={`Rights of ${name} to ${resource}`}
            columns={columns}
            records={answer}
            empty="There are no rights."
          />
        )}
    </section>
  );
}

const columns: readonly RecordColumn<AccessRight>[] = [
  { name: "access" },
  { name: "count", title: "rows", show: reachedRows },
  { name: "policy" },
  { name: "condition", title: "because", show: reasons },
];

function reachedRows({ access, rows, count, passes }: AccessRight) {
  if (passes !== undefined) return passes ? "this row" : "not this row";
  if (rows === "none") return <span class="quiet">none</span>;
  if (access === "create") return rows === "all" ? "any new row" : "new rows that match";
  return count === null ? rows : count.toLocaleString("en");
}

function reasons({ rows, condition, terms = [] }: AccessRight) {
  if (rows === "none") return <span class="quiet">no scope permits this</span>;
  if (rows === "all") return "every row is permitted";
  if (terms.length === 0) return <code>{condition}</code>;
  return (
    <ul class="plain">
      {terms.map((term) => (
        <li key={term.condition}>
          {term.passes ? "✓" : "✗"} <code>{term.condition}</code>
        </li>
      ))}
    </ul>
  );
}

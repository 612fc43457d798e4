import { useState } from "preact/hooks";
import { act, CallError } from "../service/call.ts";
import { useFacts } from "../service/facts.ts";
import { toError } from "../service/use_report.ts";
import { changeQuery, href } from "../shell/route.ts";
import { formatValue } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { Page } from "../parts/report_view.tsx";

/** What the database does for a list. */
interface Explained {
  readonly sql?: string;
  readonly parameters?: unknown;
  readonly plan?: readonly unknown[];
  readonly error?: { readonly detail?: string; readonly message?: string } | null;
}

/** Tries a filter: shows its SQL, and the plan of the database. */
export function FilterPage({ query }: { readonly query: URLSearchParams }) {
  const { resources } = useFacts();
  const [resource, setResource] = useState(query.get("resource") ?? resources[0]?.path ?? "");
  const [filter, setFilter] = useState(query.get("filter") ?? "");
  const [orderBy, setOrderBy] = useState(query.get("orderBy") ?? "");
  const [answer, setAnswer] = useState<Explained | Error | null>(null);
  const explain = async (event: Event) => {
    event.preventDefault();
    const given = { filter: filter.trim() || null, orderBy: orderBy.trim() || null };
    changeQuery({ resource, ...given }, "replace");
    try {
      const body = { resource, filter: given.filter ?? undefined, limit: 50 };
      // The contract of the action says what it gives.
      setAnswer(
        await act("explain", { ...body, orderBy: given.orderBy ?? undefined }) as Explained,
      );
    } catch (error) {
      setAnswer(toError(error));
    }
  };
  return (
    <Page title="Filter tester">
      <form class="form row" onSubmit={explain}>
        <label>
          Resource
          <select
            value={resource}
            onChange={({ currentTarget }) => setResource(currentTarget.value)}
          >
            {resources.map(({ path }) => <option key={path} value={path}>{path}</option>)}
          </select>
        </label>
        <label class="grows">
          Filter
          <input
            class="code"
            value={filter}
            autocomplete="off"
            spellcheck={false}
            placeholder="title=icontains=tea,price>5"
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
        </label>
        <label>
          Order
          <input
            class="code"
            value={orderBy}
            autocomplete="off"
            placeholder="-price,title"
            onInput={({ currentTarget }) => setOrderBy(currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button type="submit" class="main">Explain</button>
          <a class="button" href={href(`data/${resource}`, { filter, orderBy })}>Show the rows</a>
        </div>
      </form>
      {answer instanceof Error
        ? <ExplainProblem error={answer} />
        : answer && <Explanation answer={answer} />}
    </Page>
  );
}

function ExplainProblem({ error }: { readonly error: Error }) {
  return error instanceof CallError && error.status === 404
    ? <p class="quiet">Not available: this service does not explain filters.</p>
    : <Problem error={error} />;
}

function Explanation({ answer }: { readonly answer: Explained }) {
  const { sql, parameters, plan = [], error } = answer;
  if (error) return <Problem error={new Error(error.detail ?? error.message ?? "It is refused")} />;
  return (
    <>
      <h2>SQL</h2>
      <pre class="code" tabIndex={0}>{sql}</pre>
      {parameters !== undefined && (
        <p class="quiet">
          {typeof parameters === "number"
            ? parameters === 1 ? "1 parameter" : `${parameters} parameters`
            : formatValue(parameters)}
        </p>
      )}
      <h2>Plan</h2>
      <pre class="code" tabIndex={0}>{plan.map((line) =>
        typeof line === "string" ? line : JSON.stringify(line)
      ).join("\n") || "–"}</pre>
    </>
  );
}

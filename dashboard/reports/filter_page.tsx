import { useState } from "preact/hooks";
import { useFacts } from "../service/facts.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { changeQuery, href } from "../shell/route.ts";
import { rowsText } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { Page } from "../parts/report_view.tsx";

/** Tests a filter: shows the number of rows that match, or the problem of the filter. */
export function FilterPage({ query }: { readonly query: URLSearchParams }) {
  const { resources } = useFacts();
  const { rows } = useRows();
  const [resource, setResource] = useState(query.get("resource") ?? resources[0]?.path ?? "");
  const [filter, setFilter] = useState(query.get("filter") ?? "");
  const [orderBy, setOrderBy] = useState(query.get("orderBy") ?? "");
  const [answer, setAnswer] = useState<number | Error | null>(null);
  const test = async (event: Event) => {
    event.preventDefault();
    const given = { filter: filter.trim() || null, orderBy: orderBy.trim() || null };
    changeQuery({ resource, ...given }, "replace");
    try {
      const { totalCount } = await rows.of({ path: resource }).list({
        ...{ limit: 1, totalCount: true },
        ...given.filter && { filter: given.filter },
        ...given.orderBy && { orderBy: given.orderBy.split(",") },
      });
      setAnswer(totalCount ?? null);
    } catch (error) {
      setAnswer(toError(error));
    }
  };
  return (
    <Page title="Filter tester">
      <form class="form row" onSubmit={test}>
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
          <button type="submit" class="main">Test</button>
          <a class="button" href={href(`data/${resource}`, { filter, orderBy })}>Show the rows</a>
        </div>
      </form>
      {answer instanceof Error
        ? <Problem error={answer} />
        : answer !== null && <p role="status">{rowsText(answer)}</p>}
    </Page>
  );
}

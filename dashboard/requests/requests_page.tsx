import { useReport } from "../service/use_report.ts";
import { changeQuery, href } from "../shell/route.ts";
import { Facts } from "../parts/facts.tsx";
import { formatTime } from "../parts/format.ts";
import { listAt, type RecordColumn, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

/** The text fields of the search: the parameter, and the label. */
const texts = [
  ["path", "Path begins with"],
  ["user", "User"],
  ["problem", "Problem"],
  ["request", "Request id"],
] as const;
const times = [["since", "From"], ["until", "To"]] as const;
const parameters = [
  ...["id", "status", "method", "route", "slower", "before"],
  ...[...texts, ...times].map(([name]) => name),
];

const columns: readonly RecordColumn<Readonly<Record<string, unknown>>>[] = [
  {
    name: "at",
    title: "time",
    kind: "time",
    show: ({ id, at }) => <a href={href("requests", { id: String(id) })}>{formatTime(at)}</a>,
  },
  { name: "method" },
  { name: "path", show: ({ path }) => <code>{String(path)}</code> },
  { name: "status", kind: "number" },
  { name: "durationMs", title: "ms", kind: "number" },
  { name: "user" },
  { name: "problem" },
  { name: "requestId", title: "request id" },
  { name: "bytes", kind: "number" },
];

/** The log of requests, with a search. */
export function RequestsPage({ query }: { readonly query: URLSearchParams }) {
  const search = Object.fromEntries(
    parameters.flatMap((name) => query.get(name) ? [[name, query.get(name) ?? ""]] : []),
  );
  const state = useReport("requests", search);
  const one = query.get("id");
  return (
    <Page
      title={one === null ? "Requests" : "Request"}
      actions={<button type="button" onClick={state.reload}>Refresh</button>}
    >
      {one === null
        ? <Search key={JSON.stringify(search)} search={search} />
        : <p>{<a href={href("requests")}>All requests</a>}</p>}
      <ReportView state={state}>
        {(report) => {
          const requests = listAt(report, "requests");
          const { next, lost } = Object(report);
          if (one !== null && requests[0]) return <Facts record={requests[0]} />;
          return (
            <>
              {lost > 0 && <p class="warn">{lost} requests of the last month are not in the log.
              </p>}
              <RecordTable
                label="Requests"
                columns={columns}
                records={requests}
                empty="The log contains no such request."
              />
              <p class="tools">
                {search.before && (
                  <a href={href("requests", { ...search, before: null })}>Newest requests</a>
                )}
                {next && (
                  <a href={href("requests", { ...search, before: String(next) })}>Older requests</a>
                )}
              </p>
            </>
          );
        }}
      </ReportView>
    </Page>
  );
}

function Search({ search }: { readonly search: Readonly<Record<string, string>> }) {
  const submit = (form: HTMLFormElement) => {
    const given = new FormData(form);
    const changes = Object.fromEntries(parameters.map((name) => {
      const value = String(given.get(name) ?? "").trim();
      const isTime = times.some(([time]) => time === name);
      return [name, (isTime && value ? String(new Date(value).getTime()) : value) || null];
    }));
    changeQuery(changes);
  };
  return (
    <form
      class="form row"
      role="search"
      aria-label="Search requests"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <Choice
        name="status"
        values={["2", "3", "4", "5"]}
        search={search}
        show={(one) => `${one}xx`}
      />
      <Choice name="method" values={["GET", "POST", "PATCH", "PUT", "DELETE"]} search={search} />
      {texts.map(([name, label]) => (
        <label key={name}>
          {label}
          <input name={name} defaultValue={search[name]} autocomplete="off" />
        </label>
      ))}
      <label>
        Slower than (ms)
        <input name="slower" type="number" min="1" defaultValue={search.slower} />
      </label>
      {times.map(([name, label]) => (
        <label key={name}>
          {label}
          <input name={name} type="datetime-local" defaultValue={localTime(search[name])} />
        </label>
      ))}
      {search.route !== undefined && (
        <label>
          Route
          <input name="route" defaultValue={search.route} autocomplete="off" />
        </label>
      )}
      <div class="actions">
        <button type="submit" class="main">Search</button>
        <a class="button" href={href("requests")}>Clear</a>
      </div>
    </form>
  );
}

function Choice({ name, values, search, show = (one) => one }: {
  readonly name: "status" | "method";
  readonly values: readonly string[];
  readonly search: Readonly<Record<string, string>>;
  readonly show?: (value: string) => string;
}) {
  return (
    <label>
      {name === "status" ? "Status" : "Method"}
      <select name={name}>
        <option value="">Any</option>
        {values.map((one) => (
          <option key={one} value={one} selected={search[name] === one}>{show(one)}</option>
        ))}
      </select>
    </label>
  );
}

/** The time of an input, in the zone of the browser. */
function localTime(ms: string | undefined): string | undefined {
  const date = new Date(Number(ms));
  if (ms === undefined || Number.isNaN(date.getTime())) return undefined;
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

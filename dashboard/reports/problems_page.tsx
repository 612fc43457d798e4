import { useReport } from "../service/use_report.ts";
import { listAt, type RecordColumn, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";
import { href } from "../shell/route.ts";

const columns: readonly RecordColumn<Readonly<Record<string, unknown>>>[] = [
  { name: "status", kind: "number" },
  { name: "code" },
  { name: "count", kind: "number" },
  { name: "firstAt", title: "first", kind: "time" },
  { name: "lastAt", title: "last", kind: "time" },
  { name: "path", title: "route", show: ({ method, path }) => <code>{`${method} ${path}`}</code> },
  { name: "detail" },
  {
    name: "requests",
    show({ code, method, path }) {
      const search = { problem: String(code), method: String(method), route: String(path) };
      return <a href={href("requests", search)}>Show requests</a>;
    },
  },
];

/** The problems that the service has answered with, grouped. */
export function ProblemsPage() {
  const state = useReport("problems", {}, 3_000);
  return (
    <Page title="Problems">
      <p class="quiet">The last 200 groups by code and route, newest first.</p>
      <ReportView state={state}>
        {(report) => (
          <RecordTable
            label="Problems"
            columns={columns}
            records={listAt(report, "problems")}
            empty="No request had a problem."
          />
        )}
      </ReportView>
    </Page>
  );
}

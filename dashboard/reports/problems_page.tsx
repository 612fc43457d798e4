import { useReport } from "../service/use_report.ts";
import { listAt, type RecordColumn, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

const columns: readonly RecordColumn<Readonly<Record<string, unknown>>>[] = [
  { name: "status", kind: "number" },
  { name: "code" },
  { name: "count", kind: "number" },
  { name: "firstAt", title: "first", kind: "time" },
  { name: "lastAt", title: "last", kind: "time" },
  {
    name: "lastRequest",
    title: "last request",
    show({ lastRequest }) {
      const { method = "", path = "" } = Object(lastRequest);
      return <code>{`${method} ${path}`}</code>;
    },
  },
  { name: "detail" },
];

/** The problems that the service has answered with, grouped. */
export function ProblemsPage() {
  const state = useReport("problems", {}, 3_000);
  return (
    <Page title="Problems">
      <p class="quiet">Since this process began, by code. It keeps a limited number of them.</p>
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

import { useReport } from "../service/use_report.ts";
import { listAt, RecordTable } from "../parts/record_table.tsx";
import { formatValue } from "../parts/format.ts";
import { Page, ReportView } from "../parts/report_view.tsx";

/** What was written by the dashboard. */
export function AuditPage() {
  const state = useReport("audit", {}, 3_000);
  return (
    <Page title="Audit">
      <p class="quiet">The last writes of operators in this process.</p>
      <ReportView state={state}>
        {(report) => (
          <RecordTable
            label="Writes of operators"
            columns={[
              { name: "at", kind: "time" },
              { name: "user", show: ({ user }) => formatValue(Object(user).id ?? user ?? "–") },
              { name: "method" },
              { name: "path" },
              { name: "target" },
              { name: "status", kind: "number" },
            ]}
            records={listAt(report, "entries")}
            empty="Nothing was written."
          />
        )}
      </ReportView>
    </Page>
  );
}

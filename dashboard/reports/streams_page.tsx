import { useReport } from "../service/use_report.ts";
import { listAt, type RecordColumn, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

const columns: readonly RecordColumn<object>[] = [
  { name: "resource" },
  { name: "user" },
  { name: "address" },
  { name: "since", kind: "time" },
  { name: "filter" },
  { name: "rows", kind: "number" },
  { name: "sentEvents", title: "events sent", kind: "number" },
  { name: "lag", kind: "number" },
];

/** The live streams that are open. */
export function StreamsPage() {
  const state = useReport("streams", {}, 2_000);
  return (
    <Page title="Live streams">
      <ReportView state={state}>
        {(report) => (
          <>
            {Object(report).isComplete === false && (
              <p class="quiet">Only some of the streams are shown.</p>
            )}
            <RecordTable
              label="Open streams"
              columns={columns}
              records={listAt(report, "streams")}
              empty="No stream is open."
            />
          </>
        )}
      </ReportView>
    </Page>
  );
}

import { useReport } from "../service/use_report.ts";
import { listAt, type RecordColumn, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

const columns: readonly RecordColumn<Readonly<Record<string, unknown>>>[] = [
  { name: "resource" },
  { name: "kind" },
  { name: "user" },
  { name: "address" },
  { name: "since", kind: "time" },
  { name: "filter" },
  { name: "state", show: stateOf },
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
              <p class="quiet">The oldest of {String(Object(report).total)} are shown.</p>
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

function stateOf({ isLive, isPart }: Readonly<Record<string, unknown>>): string {
  const state = isLive === false ? "reads the rows" : "live";
  return isPart === true ? `${state}, shares a connection` : state;
}

import { useState } from "preact/hooks";
import { act } from "../service/call.ts";
import { useFacts } from "../service/facts.ts";
import { toError, useReport } from "../service/use_report.ts";
import { Facts } from "../parts/facts.tsx";
import { Problem } from "../parts/problem.tsx";
import { listAt, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

/** The outbox of the search index: how much waits, and what was given up, which can be sent again. */
export function OutboxPage() {
  const { isReadOnly } = useFacts();
  const state = useReport("outbox", {}, 3_000);
  const [said, setSaid] = useState<string | Error | null>(null);
  const replay = async (ids: readonly string[] | "all") => {
    try {
      const answer = Object(await act("outbox-replay", { ids }));
      setSaid(
        answer.replayed === 1 ? "1 entry is sent again." : `${answer.replayed} are sent again.`,
      );
    } catch (error) {
      setSaid(toError(error));
    }
    state.reload();
  };
  return (
    <Page title="Outbox">
      {said instanceof Error
        ? <Problem error={said} what="Cannot replay" />
        : said && <p role="status">{said}</p>}
      <ReportView state={state}>
        {(report) => {
          const dead = listAt(report, "dead");
          return (
            <>
              <Facts record={Object(report).stats} />
              <div class="heading">
                <h2>Dead entries</h2>
                {dead.length > 0 && !isReadOnly && (
                  <button
                    type="button"
                    onClick={() => replay("all")}
                  >
                    Replay all
                  </button>
                )}
              </div>
              <RecordTable
                label="Dead entries"
                columns={[
                  { name: "index" },
                  { name: "key" },
                  { name: "attempts", kind: "number" },
                  { name: "lastError", title: "last error" },
                  { name: "at", kind: "time" },
                  {
                    name: "replay",
                    title: "action",
                    show: ({ id }: Readonly<Record<string, unknown>>) => (
                      <button
                        type="button"
                        disabled={isReadOnly}
                        onClick={() => replay([String(id)])}
                      >
                        Replay
                      </button>
                    ),
                  },
                ]}
                records={dead}
                empty="Nothing was given up."
              />
            </>
          );
        }}
      </ReportView>
    </Page>
  );
}

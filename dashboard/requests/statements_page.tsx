import { useState } from "preact/hooks";
import { act } from "../service/call.ts";
import { toError, useReport } from "../service/use_report.ts";
import { listAt, RecordTable } from "../parts/record_table.tsx";
import { Problem } from "../parts/problem.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

/** The slow statements, whose plans the operator can ask for. */
export function StatementsPage() {
  const state = useReport("statements");
  return (
    <Page
      title="Slow statements"
      actions={<button type="button" onClick={state.reload}>Refresh</button>}
    >
      <ReportView state={state}>
        {(report) => (
          <>
            <p class="quiet">
              Statements of at least {Object(report).slowStatementMs}{" "}
              ms, including the wait for a connection. A placeholder stands for each value.
            </p>
            <RecordTable
              label="Slow statements"
              columns={[
                { name: "longestMs", title: "longest, ms", kind: "number" },
                { name: "count", kind: "number" },
                { name: "lastAt", title: "last", kind: "time" },
                { name: "route" },
                { name: "text", title: "statement", show: (one) => <Statement one={one} /> },
              ]}
              records={listAt(report, "statements")}
              empty="No statement was slow."
            />
          </>
        )}
      </ReportView>
    </Page>
  );
}

function Statement({ one: { id, text, database } }: {
  readonly one: Readonly<Record<string, unknown>>;
}) {
  const [plan, setPlan] = useState<string | Error | null>(null);
  const ask = async () => {
    try {
      const { plan } = Object(await act("plan", { id }));
      setPlan(Array.isArray(plan) ? plan.join("\n") : "");
    } catch (error) {
      setPlan(toError(error));
    }
  };
  return (
    <div class="statement">
      <code>{String(text)}</code>
      <p class="quiet">{String(database)}</p>
      {plan === null && <button type="button" onClick={ask}>Show plan</button>}
      {plan instanceof Error
        ? <Problem error={plan} what="Cannot read the plan" />
        : plan !== null && <pre role="status" class="code">{plan}</pre>}
    </div>
  );
}

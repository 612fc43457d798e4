import { useEffect } from "preact/hooks";
import type { ResourceFacts } from "../service/facts.ts";
import { keyText } from "../service/resources.ts";
import { useReport } from "../service/use_report.ts";
import { formatTime } from "../parts/format.ts";
import { listAt } from "../parts/record_table.tsx";
import { ReportView } from "../parts/report_view.tsx";
import { CellValue } from "../data/cell.tsx";
import { isSame } from "./draft.ts";

/** The recorded changes of a row, the newest first. */
export function ChangeLog({ resource, rowKey, turn }: {
  readonly resource: ResourceFacts;
  readonly rowKey: readonly string[];
  /** Reads them again where it has changed. */
  readonly turn: unknown;
}) {
  const id = rowKey.length === 1 ? rowKey[0] ?? "" : keyText(rowKey);
  const state = useReport("changes", { resource: resource.path, id, limit: "50" });
  useEffect(() => state.reload(), [turn]);
  return (
    <section aria-labelledby="changes-title">
      <h2 id="changes-title">Changes</h2>
      <ReportView state={state}>
        {(report) => {
          const changes = listAt(report, "changes");
          const { recorded } = Object(report);
          return (
            <>
              {typeof recorded === "string" && <p class="quiet">{recorded}</p>}
              {changes.length === 0 && <p class="quiet">No change of this row is recorded.</p>}
              <ol class="changes">
                {changes.map((change, index) => <Change key={index} change={change} />)}
              </ol>
            </>
          );
        }}
      </ReportView>
    </section>
  );
}

function Change({ change }: { readonly change: Readonly<Record<string, unknown>> }) {
  const { operation, at } = change;
  const [before, after] = [Object(change.before), Object(change.after)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isSame(before[name], after[name]));
  return (
    <li>
      <p>
        <strong>{String(operation)}</strong> <span class="quiet">{formatTime(at)}</span>
      </p>
      <ul>
        {names.map((name) => (
          <li key={name}>
            {`${name}: `}
            {change.before !== undefined && change.before !== null && (
              <>
                <CellValue value={before[name]} />
                {" → "}
              </>
            )}
            <CellValue value={after[name]} />
          </li>
        ))}
      </ul>
    </li>
  );
}

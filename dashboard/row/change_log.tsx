import { useEffect, useState } from "preact/hooks";
import type { ResourceDescription } from "../service/facts.ts";
import { keyText, valueIn } from "../service/resources.ts";
import { useReport } from "../service/use_report.ts";
import { formatTime } from "../parts/format.ts";
import { listAt } from "../parts/record_table.tsx";
import { ReportView } from "../parts/report_view.tsx";
import { CellValue } from "../data/cell.tsx";
import { isSame } from "./draft.ts";

/** What is recorded of a table. */
const recordings: Readonly<Record<string, string>> = {
  triggers: "The writes of all programs are recorded",
  service: "The writes of this service are recorded",
  no: "The changes of this table are not recorded",
};

/** What happened where the rows that changed are not known. */
const operations: Readonly<Record<string, string>> = {
  touch: "a write of another program, perhaps of this row",
  truncate: "all rows of the table were removed",
};

/** The recorded changes of a row, the newest first. */
export function ChangeLog({ resource, rowKey, turn }: {
  readonly resource: ResourceDescription;
  readonly rowKey: readonly string[];
  /** Reads them again where it has changed. */
  readonly turn: unknown;
}) {
  const [before, setBefore] = useState<number | null>(null);
  const query = { resource: resource.path, id: keyText(rowKey), limit: "50" };
  const state = useReport("changes", { ...query, ...before !== null && { before: `${before}` } });
  useEffect(() => state.reload(), [turn]);
  return (
    <section aria-labelledby="changes-title">
      <h2 id="changes-title">Changes</h2>
      <ReportView state={state}>
        {(report) => {
          const changes = listAt(report, "changes");
          const { recorded, keptMs, next } = Object(report);
          return (
            <>
              <p class="quiet">
                {recordings[recorded] ?? ""}
                {typeof keptMs === "number" && `, for ${Math.round(keptMs / 60_000)} minutes`}.
                {changes.length === 0 && recorded !== "no" && " This row has none."}
              </p>
              <ol class="changes">
                {changes.map((change, index) => <Change key={index} change={change} />)}
              </ol>
              {typeof next === "number" && (
                <button type="button" onClick={() => setBefore(next)}>Older changes</button>
              )}
              {before !== null && (
                <button type="button" onClick={() => setBefore(null)}>Newest changes</button>
              )}
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
    .filter((name) => !isSame(valueIn(before, name), valueIn(after, name)));
  return (
    <li>
      <p>
        <strong>{operations[String(operation)] ?? String(operation)}</strong>{" "}
        <span class="quiet">{formatTime(at)}</span>
      </p>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <span class="quiet">{name}</span> <Values {...{ change, name }} />
          </li>
        ))}
      </ul>
    </li>
  );
}

function Values({ change, name }: {
  readonly change: Readonly<Record<string, unknown>>;
  readonly name: string;
}) {
  const [before, after] = [change.before ?? null, change.after ?? null];
  return (
    <>
      {before !== null && <CellValue value={valueIn(Object(before), name)} />}
      {before !== null && after !== null && " → "}
      {after !== null && <CellValue value={valueIn(Object(after), name)} />}
    </>
  );
}

import { useEffect, useState } from "preact/hooks";
import type { RowVersion } from "../../src/api/resource_client.ts";
import { revertRow, rowHistory } from "../../src/client/request/row_history.ts";
import type { ResourceDescription } from "../service/facts.ts";
import { type Row, valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { formatTime } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { CellValue } from "../data/cell.tsx";
import { isSame } from "./draft.ts";
import type { TaggedRow } from "./save_row.ts";

type Version = RowVersion<Row>;

/** The versions of a row, the newest first, each with a button that changes the row back to it. */
export function RowHistory({ resource, rowKey, base, onReverted }: {
  readonly resource: ResourceDescription;
  readonly rowKey: readonly string[];
  /** The row as the page has read it. */
  readonly base: TaggedRow;
  readonly onReverted: () => void;
}) {
  const { rows, mayWrite } = useRows();
  const [versions, setVersions] = useState<readonly Version[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [problem, setProblem] = useState<{ readonly error: Error; readonly what: string } | null>(
    null,
  );
  const client = rows.of(resource);

  async function read(before: readonly Version[], cursor: string | null, signal?: AbortSignal) {
    try {
      const page = await rowHistory(client, rowKey, { limit: 50, cursor, signal });
      if (signal?.aborted) return;
      setVersions([...before, ...page.items]);
      setNext(page.nextCursor);
      setProblem(null);
    } catch (error) {
      if (!signal?.aborted) setProblem({ error: toError(error), what: "Cannot read the history" });
    }
  }

  async function revert(version: string) {
    try {
      await revertRow(client, rowKey, version, resource.etag ? { ifMatch: base.etag ?? "" } : {});
      onReverted();
    } catch (error) {
      setProblem({ error: toError(error), what: "Cannot restore this version" });
    }
  }

  useEffect(() => {
    const ended = new AbortController();
    void read([], null, ended.signal);
    return () => ended.abort();
  }, [base]);
  const mayRevert = mayWrite && resource.capabilities.enableUpdate;
  return (
    <section aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      {problem && <Problem {...problem} />}
      {versions === null && problem === null && <p class="quiet" role="status">Loading …</p>}
      <ol class="changes">
        {versions?.map((version, index) => (
          <li key={version.version ?? index}>
            <p>
              <strong>{nameOf(version)}</strong>{" "}
              <span class="quiet">
                {version.at !== null && formatTime(version.at)}
                {version.user !== null && ` by ${version.user}`}
              </span>
              {mayRevert && index > 0 && version.version !== null && (
                <>
                  {" "}
                  <button type="button" onClick={() => revert(version.version ?? "")}>
                    Restore this version
                  </button>
                </>
              )}
            </p>
            <Changes version={version} older={versions[index + 1] ?? null} />
          </li>
        ))}
      </ol>
      {next !== null && (
        <button type="button" onClick={() => read(versions ?? [], next)}>Older versions</button>
      )}
    </section>
  );
}

function nameOf({ operation, at, row }: Version): string {
  if (operation !== null) return operation;
  if (at === null) return "an earlier state";
  return row === null ? "deleted by SQL" : "written by SQL";
}

/** The fields that differ from the older version; all fields of the oldest version. */
function Changes(
  { version, older }: { readonly version: Version; readonly older: Version | null },
) {
  const [before, after] = [older?.row ?? {}, version.row ?? {}];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isSame(valueIn(before, name), valueIn(after, name)));
  return (
    <ul>
      {names.map((name) => (
        <li key={name}>
          <span class="quiet">{name}</span>{" "}
          {Object.hasOwn(before, name) && <CellValue value={valueIn(before, name)} />}
          {Object.hasOwn(before, name) && Object.hasOwn(after, name) && " → "}
          {Object.hasOwn(after, name) && <CellValue value={valueIn(after, name)} />}
        </li>
      ))}
    </ul>
  );
}

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  type FieldFacts,
  isStored,
  type ResourceDescription,
  shownFields,
} from "../service/facts.ts";
import { ServiceError } from "../../exports/client.ts";
import { valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { rowsText } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { CellValue } from "../data/cell.tsx";
import {
  type ImportedRow,
  type ImportedText,
  type Mapping,
  proposeMapping,
  readLine,
  readText,
} from "./read_import.ts";

/** The number of rows in the preview. */
const previewed = 6;

/** The number of rows in a batch. */
const rowsOfBatch = 500;

/** Larger files belong to the command line. */
const maxBytes = 50_000_000;

/** Creates rows from CSV or TSV: the operator maps the columns and sees the first rows before. */
export function ImportDialog({ resource, onClose, onWritten }: {
  readonly resource: ResourceDescription;
  readonly onClose: () => void;
  readonly onWritten: () => void;
}) {
  const { rows } = useRows();
  const dialog = useRef<HTMLDialogElement>(null);
  const stop = useRef<AbortController | null>(null);
  const [text, setText] = useState<ImportedText | null>(null);
  const [mapping, setMapping] = useState<Mapping>([]);
  const [isUpsert, setIsUpsert] = useState(false);
  const [written, setWritten] = useState<number | null>(null);
  const [isDone, setIsDone] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const fields = useMemo(
    () =>
      new Map(
        shownFields(resource).filter((field) =>
          isStored(field) && field.name !== resource.softDelete
        ).map((field) => [field.name, field]),
      ),
    [resource],
  );
  const read = useMemo(
    () => text?.lines.map((cells) => readLine(cells, mapping, fields)) ?? [],
    [text, mapping],
  );
  const wrong = read.filter(({ problems }) => problems.length > 0).length;
  const take = (given: string) => {
    const next = readText(given);
    setText(next);
    setMapping(proposeMapping(next.names, [...fields.values()]));
    setError(null);
  };
  const load = async (file: File | undefined) => {
    if (file === undefined) return;
    if (file.size > maxBytes) {
      return setError(new Error("The file has more than 50 MB: import it by the command line"));
    }
    take(await file.text());
  };
  const send = async () => {
    stop.current = new AbortController();
    setError(null);
    setWritten(0);
    let count = 0;
    try {
      await rows.of(resource).import(read.map(({ row }) => row), {
        ...{ size: rowsOfBatch, signal: stop.current.signal, upsert: isUpsert },
        onProgress: (number) => setWritten(count = number),
      });
      setIsDone(true);
    } catch (error) {
      setError(withRow(toError(error), count));
    }
    stop.current = null;
    onWritten();
  };
  const isRunning = written !== null && !isDone && error === null;
  const hasFields = mapping.some((name) => name !== null);
  return (
    <dialog
      class="wide"
      ref={dialog}
      aria-labelledby="import-title"
      onClose={() => {
        stop.current?.abort();
        onClose();
      }}
    >
      <h2 id="import-title">Import rows into {resource.title}</h2>
      {text === null ? <Source onFile={load} onText={take} /> : (
        <>
          <MappingTable {...{ text, mapping, fields, read, onMapping: setMapping }} />
          <p role="status">
            {isDone
              ? `${rowsText(written ?? 0)} imported.`
              : written !== null
              ? `${rowsText(written)} of ${rowsText(read.length)} written …`
              : `${rowsText(read.length)}, ${
                wrong === 0 ? "no problems" : `${wrong} with problems`
              }`}
          </p>
          <Wrong read={read} />
        </>
      )}
      {error && <Problem error={error} what="The import has stopped" />}
      <div class="actions">
        {text !== null && !isDone && (
          <>
            <button
              type="button"
              class="main"
              disabled={isRunning || wrong > 0 || read.length === 0 || !hasFields}
              onClick={send}
            >
              Import {rowsText(read.length)}
            </button>
            <label class="check">
              <input
                type="checkbox"
                checked={isUpsert}
                disabled={isRunning || !resource.key.every((name) => mapping.includes(name))}
                onChange={({ currentTarget }) => setIsUpsert(currentTarget.checked)}
              />
              Update rows that exist
            </label>
          </>
        )}
        <button type="button" onClick={() => dialog.current?.close()}>
          {isDone ? "Close" : isRunning ? "Stop" : "Cancel"}
        </button>
      </div>
    </dialog>
  );
}

/** Adds the number of the row that a batch names, and the number of rows that are written. */
function withRow(error: Error, written: number): Error {
  const done = written === 0 ? "Nothing was written." : `${rowsText(written)} were written.`;
  const details = error instanceof ServiceError ? Object(error.problem?.details) : {};
  const [first] = Array.isArray(details.errors) ? details.errors : [];
  const [, index, field] = /^items\W(\d+)\W*(.*)/.exec(String(Object(first).path ?? "")) ?? [];
  if (index === undefined) return new Error(`${error.message}. ${done}`);
  const row = written + Number(index) + 1;
  return new Error(`Row ${row}: ${field} ${Object(first).message}. ${done}`);
}

function Source({ onFile, onText }: {
  readonly onFile: (file: File | undefined) => void;
  readonly onText: (text: string) => void;
}) {
  const [pasted, setPasted] = useState("");
  return (
    <div class="form">
      <label for="import-file">A CSV or TSV file whose first line contains names</label>
      <input
        id="import-file"
        type="file"
        accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values"
        onChange={({ currentTarget }) => onFile(currentTarget.files?.[0])}
      />
      <label for="import-text">or rows from a spreadsheet</label>
      <textarea
        id="import-text"
        class="code"
        rows={5}
        value={pasted}
        onInput={({ currentTarget }) => setPasted(currentTarget.value)}
      />
      <div class="actions">
        <button type="button" disabled={pasted.trim() === ""} onClick={() => onText(pasted)}>
          Preview
        </button>
      </div>
    </div>
  );
}

function MappingTable({ text, mapping, fields, read, onMapping }: {
  readonly text: ImportedText;
  readonly mapping: Mapping;
  readonly fields: ReadonlyMap<string, FieldFacts>;
  readonly read: readonly ImportedRow[];
  readonly onMapping: (mapping: Mapping) => void;
}) {
  return (
    <table class="preview" aria-label="Columns and their fields">
      <thead>
        <tr>
          <th scope="col">Column</th>
          <th scope="col">Field</th>
          <th scope="col">First values</th>
        </tr>
      </thead>
      <tbody>
        {text.names.map((name, at) => {
          const chosen = mapping[at] ?? null;
          return (
            <tr key={at}>
              <th scope="row">{name || `column ${at + 1}`}</th>
              <td>
                <select
                  aria-label={`Field of ${name || `column ${at + 1}`}`}
                  value={chosen ?? ""}
                  onChange={({ currentTarget: { value } }) =>
                    onMapping(
                      mapping.map((old, index) =>
                        index === at ? value || null : old === value ? null : old
                      ),
                    )}
                >
                  <option value="">left out</option>
                  {[...fields.keys()].map((one) => <option key={one} value={one}>{one}</option>)}
                </select>
              </td>
              <td>
                {read.slice(0, previewed).map(({ row }, index) => (
                  <span class="first-value" key={index}>
                    {chosen === null
                      ? <span class="quiet">{text.lines[index]?.[at]?.text}</span>
                      : <CellValue value={valueIn(row, chosen)} />}
                  </span>
                ))}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Wrong({ read }: { readonly read: readonly ImportedRow[] }) {
  const wrong = read.flatMap(({ problems }, index) =>
    problems.length > 0 ? [`Row ${index + 1}: ${problems.join("; ")}`] : []
  );
  if (wrong.length === 0) return null;
  return (
    <ul class="problem" aria-label="Problems">
      {wrong.slice(0, 5).map((one) => <li key={one}>{one}</li>)}
      {wrong.length > 5 && <li>and {rowsText(wrong.length - 5)} more</li>}
    </ul>
  );
}

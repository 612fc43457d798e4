import { useState } from "preact/hooks";
import {
  type FieldFacts,
  listableFields,
  type ResourceDescription,
  shownFields,
} from "../service/facts.ts";
import { joinNames } from "../service/names.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { changeQuery } from "../shell/route.ts";
import { Problem } from "../parts/problem.tsx";
import { exportCsv } from "./export_csv.ts";
import { chooseColumns, type ListQuery } from "./list_query.ts";

/** What can be done with a list: choose its columns, export it, follow it. */
export function ListTools({ resource, fields, list, wantsLive, onLive }: {
  readonly resource: ResourceDescription;
  readonly fields: readonly FieldFacts[];
  readonly list: ListQuery;
  readonly wantsLive: boolean;
  /** Null where the resource has no live lists. */
  readonly onLive: ((isOn: boolean) => void) | null;
}) {
  return (
    <div class="tools">
      <ColumnMenu resource={resource} fields={fields} />
      <ExportButton resource={resource} fields={fields} list={list} />
      {resource.softDelete !== null && (
        <label class="check">
          <input
            type="checkbox"
            checked={list.withDeleted}
            onChange={({ currentTarget }) =>
              changeQuery({ deleted: currentTarget.checked ? "1" : null })}
          />
          Deleted
        </label>
      )}
      {onLive && (
        <label class="check">
          <input
            type="checkbox"
            checked={wantsLive}
            onChange={({ currentTarget }) => onLive(currentTarget.checked)}
          />
          Live
        </label>
      )}
    </div>
  );
}

function ColumnMenu({ resource, fields }: {
  readonly resource: ResourceDescription;
  readonly fields: readonly FieldFacts[];
}) {
  const all = listableFields(resource);
  const write = (chosen: readonly FieldFacts[]) => {
    const names = chosen.map((field) => field.name);
    const isDefault = joinNames(names) ===
      joinNames(shownFields(resource).map((field) => field.name));
    if (names.length > 0) chooseColumns(resource, isDefault ? null : names);
  };
  const choose = (field: FieldFacts, isShown: boolean) =>
    write(isShown ? [...fields, field] : fields.filter((one) => one !== field));
  const move = (from: number, to: number) => {
    const moved = fields[from];
    if (moved !== undefined) write(fields.toSpliced(from, 1).toSpliced(to, 0, moved));
  };
  const hidden = all.filter((field) => !fields.includes(field));
  return (
    <details class="dropdown">
      <summary>Columns</summary>
      <fieldset>
        <legend class="unseen">Columns that are shown</legend>
        {[...fields, ...hidden].map((field, at) => (
          <div class="column-choice" key={field.name}>
            <label class="check">
              <input
                type="checkbox"
                checked={at < fields.length}
                onChange={({ currentTarget }) => choose(field, currentTarget.checked)}
              />
              {field.name}
            </label>
            {at < fields.length && fields.length > 1 && (
              <>
                <button
                  type="button"
                  disabled={at === 0}
                  aria-label={`Move ${field.name} to the left`}
                  onClick={() => move(at, at - 1)}
                >
                  ↑
                </button>
                <button
                  type="button"
                  disabled={at === fields.length - 1}
                  aria-label={`Move ${field.name} to the right`}
                  onClick={() => move(at, at + 1)}
                >
                  ↓
                </button>
              </>
            )}
          </div>
        ))}
        <button type="button" onClick={() => chooseColumns(resource, null)}>Show all</button>
      </fieldset>
    </details>
  );
}

function ExportButton({ resource, fields, list }: {
  readonly resource: ResourceDescription;
  readonly fields: readonly FieldFacts[];
  readonly list: ListQuery;
}) {
  const { rows } = useRows();
  const [progress, setProgress] = useState<number | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const start = async () => {
    setError(null);
    setProgress(0);
    try {
      const select = fields.map(({ name }) => name);
      await exportCsv({ rows, resource, query: list, select }, setProgress);
    } catch (error) {
      setError(toError(error));
    }
    setProgress(null);
  };
  return (
    <>
      <button type="button" disabled={progress !== null} onClick={start}>
        {progress === null ? "Export CSV" : `Exporting … ${Math.round(progress / 1e4) / 100} MB`}
      </button>
      {error && <Problem error={error} what="Cannot export" />}
    </>
  );
}

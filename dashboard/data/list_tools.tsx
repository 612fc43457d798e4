import { useState } from "preact/hooks";
import {
  type FieldFacts,
  listableFields,
  type ResourceDescription,
  shownFields,
} from "../service/facts.ts";
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
  const choose = (name: string, isShown: boolean) => {
    const chosen = all.filter((field) => field.name === name ? isShown : fields.includes(field));
    const names = chosen.map((field) => field.name);
    const isDefault = names.join() === shownFields(resource).map((field) => field.name).join();
    if (names.length > 0) chooseColumns(resource, isDefault ? null : names);
  };
  return (
    <details class="dropdown">
      <summary>Columns</summary>
      <fieldset>
        <legend class="unseen">Columns that are shown</legend>
        {all.map((field) => (
          <label class="check">
            <input
              type="checkbox"
              checked={fields.includes(field)}
              onChange={({ currentTarget }) => choose(field.name, currentTarget.checked)}
            />
            {field.name}
          </label>
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

import { useState } from "preact/hooks";
import { type ResourceDescription, shownFields } from "../service/facts.ts";
import { type Row, valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { Problem } from "../parts/problem.tsx";
import { CellValue } from "../data/cell.tsx";

/** A row that is marked deleted, and can be restored. */
export function DeletedRow({ resource, rowKey, value, onRestored }: {
  readonly resource: ResourceDescription;
  readonly rowKey: readonly string[];
  readonly value: Row;
  readonly onRestored: () => void;
}) {
  const { rows, mayWrite } = useRows();
  const [error, setError] = useState<Error | null>(null);
  const restore = () =>
    rows.of(resource).restore(rowKey).then(onRestored, (error) => setError(toError(error)));
  return (
    <>
      <p>This row is marked deleted.</p>
      {error && <Problem error={error} what="Cannot restore" />}
      {mayWrite && <button type="button" class="main" onClick={restore}>Restore</button>}
      <dl class="facts">
        {shownFields(resource).map(({ name }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <CellValue value={valueIn(value, name)} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

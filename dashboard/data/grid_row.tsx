import { type FieldFacts, isNumeric, type ResourceDescription } from "../service/facts.ts";
import { keyOfRow, keyText, type Row, valueIn } from "../service/resources.ts";
import { href } from "../shell/route.ts";
import { type ActiveCell, rangeOf } from "../cells/active_cell.ts";
import { CellValue } from "./cell.tsx";
import { ReferenceCell } from "./reference_cell.tsx";

/** A row of the grid; one that is not in memory shows a gap. */
export function GridRow({ resource, fields, row, index, cell, isChanged, isSelected, onToggle }: {
  readonly resource: ResourceDescription;
  readonly fields: readonly FieldFacts[];
  readonly row: Row | null;
  readonly index: number;
  readonly cell: ActiveCell | null;
  readonly isChanged: boolean;
  /** Null if the row cannot be selected. */
  readonly isSelected: boolean | null;
  readonly onToggle: (row: Row) => void;
}) {
  const isDeleted = row !== null && resource.softDelete !== null &&
    (valueIn(row, resource.softDelete) ?? null) !== null;
  const look = [isChanged && "changed", isDeleted && "deleted", isSelected && "selected"]
    .filter(Boolean).join(" ");
  const range = cell && rangeOf(cell);
  const inRange = (column: number) =>
    range !== null && index >= range.top && index <= range.bottom && column >= range.left &&
    column <= range.right;
  return (
    <tr aria-rowindex={index + 2} class={look} aria-selected={isSelected ?? undefined}>
      {isSelected !== null && (
        <td class="mark">
          {row !== null && (
            <input
              type="checkbox"
              tabIndex={-1}
              aria-label={`Select ${keyOfRow(resource, row).join(", ")}`}
              checked={isSelected}
              onChange={() => onToggle(row)}
            />
          )}
        </td>
      )}
      {fields.map((field, column) => (
        <td
          key={field.name}
          id={`cell-${index}-${column}`}
          aria-selected={inRange(column)}
          class={[
            isNumeric(field) && !field.references && "number",
            inRange(column) && "in-range",
            cell?.row === index && cell.column === column && "active",
          ].filter(Boolean).join(" ")}
        >
          {row !== null && <Cell {...{ resource, field, row, isFirst: column === 0 }} />}
        </td>
      ))}
    </tr>
  );
}

function Cell({ resource, field, row, isFirst }: {
  readonly resource: ResourceDescription;
  readonly field: FieldFacts;
  readonly row: Row;
  readonly isFirst: boolean;
}) {
  const value = valueIn(row, field.name);
  const { references } = field;
  const [keyField, more] = resource.key;
  if (keyField !== undefined && (isFirst || more === undefined && keyField === field.name)) {
    const key = keyOfRow(resource, row);
    return (
      <a tabIndex={-1} href={href(`${resource.place}/${keyText(key)}`)}>
        <CellValue value={value} />
      </a>
    );
  }
  if (references && value !== null && value !== undefined) {
    return <ReferenceCell reference={references} value={value} />;
  }
  return <CellValue value={value} isCut={isCut(row, field.name)} />;
}

/** Whether the service has sent the beginning of a string alone. */
function isCut({ _cut: cut }: Row, name: string): boolean {
  return Array.isArray(cut) && cut.includes(name);
}

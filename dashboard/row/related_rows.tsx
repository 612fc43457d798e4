import { useEffect, useState } from "preact/hooks";
import {
  type FieldFacts,
  type ResourceDescription,
  shownFields,
  useFacts,
} from "../service/facts.ts";
import { keyOfRow, keyText, type Row, valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { href } from "../shell/route.ts";
import { shownCharacters } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { CellValue } from "../data/cell.tsx";
import { equals } from "../data/column_filters.ts";

/** The number of related rows that the page shows. */
const shownRows = 5;

/** The number of columns of related rows. */
const shownColumns = 5;

/** The number of relations that are open from the beginning. */
const openRelations = 6;

/** A field of another resource that names rows of this one. */
interface ToMany {
  readonly resource: ResourceDescription;
  readonly field: FieldFacts;
  /** The field that it names. */
  readonly named: string;
}

/** The rows of other resources that name this row. */
export function RelatedRows({ resource, row }: {
  readonly resource: ResourceDescription;
  readonly row: Row;
}) {
  const { resources } = useFacts();
  const relations = resources.flatMap((one) =>
    shownFields(one).flatMap((field): ToMany[] =>
      field.references?.resource === resource.name
        ? [{ resource: one, field, named: field.references.field }]
        : []
    )
  );
  if (relations.length === 0) return null;
  return (
    <section aria-labelledby="related-title">
      <h2 id="related-title">Related rows</h2>
      {relations.map((relation, index) => (
        <Related
          key={`${relation.resource.path} ${relation.field.name}`}
          {...{ relation, isOpen: index < openRelations }}
          value={valueIn(row, relation.named)}
        />
      ))}
    </section>
  );
}

function Related({ relation: { resource, field }, value, isOpen }: {
  readonly relation: ToMany;
  readonly value: unknown;
  readonly isOpen: boolean;
}) {
  const { rows, mayWrite } = useRows();
  const [wants, setWants] = useState(isOpen);
  const [found, setFound] = useState<readonly Row[] | Error | null>(null);
  const isNamed = value !== null && value !== undefined;
  const filter = equals(field.name, value);
  useEffect(() => {
    if (!wants || !isNamed) return;
    const ended = new AbortController();
    const { signal } = ended;
    rows.of(resource).list({
      filter,
      ...{ limit: shownRows + 1, preview: shownCharacters, signal },
    })
      .then(
        ({ items }) => setFound(items),
        (error) => signal.aborted || setFound(toError(error)),
      );
    return () => ended.abort();
  }, [rows, wants, filter]);
  if (!isNamed) return null;
  const title = `${resource.title} by ${field.name}`;
  const count = !Array.isArray(found)
    ? ""
    : found.length > shownRows
    ? `${shownRows}+`
    : found.length;
  return (
    <details
      class="related"
      open={isOpen}
      onToggle={({ currentTarget }) => currentTarget.open && setWants(true)}
    >
      <summary>
        {title} <span class="quiet">{count}</span>
      </summary>
      {found instanceof Error && <Problem error={found} />}
      {Array.isArray(found) && found.length > 0 && (
        <RelatedTable {...{ resource, field, title, found: found.slice(0, shownRows) }} />
      )}
      <p>
        <a href={href(resource.place, { filter })}>Show in {resource.title}</a>
        {mayWrite && (
          <>
            {" · "}
            <a href={href(`${resource.place}/+new`, { set: JSON.stringify([field.name, value]) })}>
              New row of {resource.title}
            </a>
          </>
        )}
      </p>
    </details>
  );
}

function RelatedTable({ resource, field, title, found }: {
  readonly resource: ResourceDescription;
  readonly field: FieldFacts;
  readonly title: string;
  readonly found: readonly Row[];
}) {
  const names = shownFields(resource).map(({ name }) => name)
    .filter((name) => name !== field.name && !resource.key.includes(name));
  const columns = [
    ...names.filter((name) => name === resource.label),
    ...names.filter((name) => name !== resource.label),
  ].slice(0, shownColumns);
  return (
    <div class="table" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{resource.key.join(", ") || "row"}</th>
            {columns.map((name) => <th key={name} scope="col">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {found.map((row, index) => {
            const key = keyOfRow(resource, row);
            return (
              <tr key={index}>
                <td>
                  {key.length > 0 && (
                    <a href={href(`${resource.place}/${keyText(key)}`)}>
                      <CellValue value={key.join(", ")} />
                    </a>
                  )}
                </td>
                {columns.map((name) => (
                  <td key={name}>
                    <CellValue value={valueIn(row, name)} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

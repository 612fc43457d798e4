import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { resourceNamed, shownFields, useFacts } from "../service/facts.ts";
import { type Row, valueIn } from "../service/resources.ts";
import { useRows } from "../service/use_rows.ts";
import { toError } from "../service/use_report.ts";
import { Problem } from "../parts/problem.tsx";
import { shownCharacters } from "../parts/format.ts";
import { equals } from "./column_filters.ts";
import { CellValue } from "./cell.tsx";
import { linkOf, type Peeked } from "./reference_cell.tsx";

/** A row of another resource, beside the value that names it. */
export function Peek({ peeked, onClose }: {
  readonly peeked: Peeked;
  readonly onClose: () => void;
}) {
  const { reference, value, at } = peeked;
  const facts = useFacts();
  const { rows } = useRows();
  const box = useRef<HTMLDivElement>(null);
  const [row, setRow] = useState<Row | null | Error>(null);
  const [isRead, setIsRead] = useState(false);
  const target = resourceNamed(facts, reference.resource);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const { left, bottom } = at.getBoundingClientRect();
    element.style.left = `${Math.max(8, Math.min(left, innerWidth - 340))}px`;
    element.style.top = `${Math.min(bottom + 4, innerHeight - 300)}px`;
    element.showPopover();
    element.focus();
    const follow = (event: Event) => {
      if (event instanceof ToggleEvent && event.newState === "closed") onClose();
    };
    element.addEventListener("toggle", follow);
    return () => element.removeEventListener("toggle", follow);
  }, [peeked]);
  useEffect(() => {
    if (target === null) return;
    const ended = new AbortController();
    const options = {
      filter: equals(reference.field, value),
      ...{ limit: 1, preview: shownCharacters, signal: ended.signal },
    };
    rows.of(target).list(options).then(({ items }) => {
      setRow(items[0] ?? null);
      setIsRead(true);
    }).catch((error) => ended.signal.aborted || setRow(toError(error)));
    return () => ended.abort();
  }, [peeked]);
  if (target === null) return null;
  return (
    <div
      class="peek"
      ref={box}
      popover="auto"
      role="dialog"
      aria-label={target.title}
      tabIndex={-1}
    >
      <p>
        <a href={linkOf(target, reference, value)}>
          {target.title} {String(value)}
        </a>
      </p>
      {row instanceof Error
        ? <Problem error={row} />
        : row === null
        ? <p class="quiet">{isRead ? "There is no such row." : "Loading …"}</p>
        : (
          <>
            <p>
              <strong>
                <CellValue value={valueIn(row, target.label)} />
              </strong>
            </p>
            <dl>
              {shownFields(target).slice(0, 12).map(({ name }) => (
                <>
                  <dt>{name}</dt>
                  <dd>
                    <CellValue value={valueIn(row, name)} />
                  </dd>
                </>
              ))}
            </dl>
          </>
        )}
    </div>
  );
}

import { useEffect, useState } from "preact/hooks";
import { ServiceError } from "../../exports/client.ts";
import { changeQuery } from "../shell/route.ts";
import type { ListQuery } from "./list_query.ts";

/** The filter as text, with what the service says of it. */
export function FilterBox({ list, error }: {
  readonly list: ListQuery;
  readonly error: Error | null;
}) {
  const [text, setText] = useState(list.filter);
  useEffect(() => setText(list.filter), [list.filter]);
  const wrong = error instanceof ServiceError && error.slug === "filter-parse-error" ? error : null;
  return (
    <form
      class="filter-box"
      onSubmit={(event) => {
        event.preventDefault();
        changeQuery({ filter: text.trim() || null });
      }}
    >
      <label for="filter">Filter</label>
      <input
        id="filter"
        value={text}
        placeholder="name=icontains=tea;price>5"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={wrong !== null}
        aria-describedby={wrong ? "filter-error" : undefined}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit">Apply</button>
      {list.filter !== "" && (
        <button type="button" onClick={() => changeQuery({ filter: null })}>Clear</button>
      )}
      {wrong && (
        <p class="problem" id="filter-error" role="alert">
          {wrong.message} {placeOf(wrong, list.filter)}
        </p>
      )}
    </form>
  );
}

/** Where in the filter the mistake is. */
function placeOf({ problem }: ServiceError, filter: string): string {
  const { position } = Object(problem?.details);
  if (typeof position !== "number") return "";
  return position >= filter.length
    ? "(at the end)"
    : `(at “${filter.slice(position, position + 20)}”)`;
}

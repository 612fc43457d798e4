import { useState } from "preact/hooks";
import { changeQuery } from "../shell/route.ts";

/** A form that searches a list whose report takes `search` and `after`. */
export function SearchForm({ query, label }: {
  readonly query: URLSearchParams;
  readonly label: string;
}) {
  const [text, setText] = useState(query.get("search") ?? "");
  return (
    <form
      class="form row"
      onSubmit={(event) => {
        event.preventDefault();
        changeQuery({ search: text.trim() || null, after: null });
      }}
    >
      <label class="grows">
        {label}
        <input
          type="search"
          value={text}
          autocomplete="off"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <div class="actions">
        <button type="submit" class="main">Search</button>
      </div>
    </form>
  );
}

/** Buttons to the first page and to the next page of a list. */
export function Pages({ query, next }: {
  readonly query: URLSearchParams;
  readonly next: unknown;
}) {
  return (
    <div class="actions">
      {query.has("after") && (
        <button type="button" onClick={() => changeQuery({ after: null })}>First page</button>
      )}
      {typeof next === "string" && (
        <button
          type="button"
          onClick={() => changeQuery({ after: next })}
        >
          Next page
        </button>
      )}
    </div>
  );
}

/** The parameters of the report of such a list. */
export function listQuery(query: URLSearchParams): Readonly<Record<string, string>> {
  return { search: query.get("search") ?? "", after: query.get("after") ?? "" };
}

/** The path of the page of an account. */
export function accountPlace(id: unknown): string {
  return `accounts/${encodeURIComponent(String(id))}`;
}

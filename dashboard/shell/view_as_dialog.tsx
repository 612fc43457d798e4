import { readWithStrings } from "../row/document_text.ts";
import { useRef, useState } from "preact/hooks";
import { href, parseRoute } from "./route.ts";

/** Asks with which user's rights to look at the service. */
export function ViewAsDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [id, setId] = useState("");
  const [roles, setRoles] = useState("");
  const [more, setMore] = useState("");
  const further = parseMore(more);
  const submit = (event: Event) => {
    event.preventDefault();
    if (further === null) return;
    const names = roles.split(/[\s,]+/).filter((role) => role !== "");
    const user = id.trim() === ""
      ? null
      : { id: id.trim(), ...names.length > 0 && { roles: names }, ...further };
    dialog.current?.close();
    const { path } = parseRoute(location.hash);
    location.hash = href(path.join("/"), { as: JSON.stringify(user) });
  };
  return (
    <>
      <button type="button" class="view-as" onClick={() => dialog.current?.showModal()}>
        View as …
      </button>
      <dialog ref={dialog} aria-labelledby="view-as-title">
        <form class="form" onSubmit={submit}>
          <h2 id="view-as-title">View as a user</h2>
          <p class="quiet">
            The resources are read with the rights of this user. Nothing can be written.
          </p>
          <label for="view-as-id">Id of the user; empty for a caller without a credential</label>
          <input
            id="view-as-id"
            autocomplete="off"
            value={id}
            onInput={({ currentTarget }) => setId(currentTarget.value)}
          />
          <label for="view-as-roles">Roles, separated by commas</label>
          <input
            id="view-as-roles"
            autocomplete="off"
            value={roles}
            onInput={({ currentTarget }) => setRoles(currentTarget.value)}
          />
          <label for="view-as-more">Further properties, as JSON</label>
          <textarea
            id="view-as-more"
            rows={2}
            placeholder='{ "organization": "acme" }'
            value={more}
            aria-invalid={further === null}
            onInput={({ currentTarget }) => setMore(currentTarget.value)}
          />
          {further === null && <p class="problem" role="alert">This is no JSON object.</p>}
          <div class="actions">
            <button type="submit" class="main">View</button>
            <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
          </div>
        </form>
      </dialog>
    </>
  );
}

/** Null for a string that is not a JSON object. */
function parseMore(text: string): object | null {
  if (text.trim() === "") return {};
  try {
    const value: unknown = readWithStrings(text);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

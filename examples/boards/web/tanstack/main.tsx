import { useState } from "react";
import { createRoot } from "react-dom/client";
import { createCollection } from "@tanstack/db";
import { eq, useLiveQuery } from "@tanstack/react-db";
import { liveCollectionOptions } from "@svc/resource-api-client/tanstack-db";
import { api, between, columns, type Status } from "../board.ts";

let report: (text: string) => void = () => {};

/** The cards of the service as a collection. Its writes show at once, and are undone if refused. */
const cards = createCollection(liveCollectionOptions(api.cards, {
  getKey: (card) => card.id,
  onStatus: (status) => report(status),
}));

let dragged: string | null = null;

/** Says why a write was refused. The collection has undone the write. */
function watch(
  { isPersisted }: { isPersisted: { promise: Promise<unknown> } },
): void {
  isPersisted.promise.catch((error: Error) => report(error.message));
}

function Board() {
  const [status, setStatus] = useState("connecting");
  report = setStatus;
  return (
    <>
      <header>
        <h1>Board in TanStack DB</h1>
        <p role="status">{status}</p>
      </header>
      <main>
        {Object.entries(columns).map(([name, title]) => (
          <Column key={name} status={name as Status} title={title} />
        ))}
      </main>
    </>
  );
}

function Column({ status, title }: { status: Status; title: string }) {
  const { data: own } = useLiveQuery(
    (query) =>
      query.from({ card: cards }).where(({ card }) => eq(card.status, status))
        .orderBy(({ card }) => card.rank),
    [status],
  );
  const rank = () => between(own.at(-1)?.rank);
  return (
    <section
      aria-label={title}
      onDragOver={(event) => event.preventDefault()}
      onDrop={() => {
        if (dragged === null) return;
        watch(cards.update(dragged, (card) =>
          void Object.assign(card, { status, rank: rank() })));
      }}
    >
      <h2>{title} {own.length}</h2>
      <ul>
        {own.map(({ id, title }) => <Item key={id} id={id} title={title} />)}
      </ul>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const text = String(new FormData(form).get("title")).trim();
          const card = {
            id: crypto.randomUUID(),
            title: text,
            status,
            rank: rank(),
            version: 1,
          };
          if (text !== "") {
            watch(cards.insert(card));
          }
          form.reset();
        }}
      >
        <input
          name="title"
          maxLength={200}
          placeholder="Add a card"
          aria-label={`Add to ${title}`}
        />
      </form>
    </section>
  );
}

function Item({ id, title }: { id: string; title: string }) {
  const [isEdited, edit] = useState(false);
  const close = (value: string) => {
    const text = value.trim();
    if (text !== "" && text !== title) {
      watch(cards.update(id, (card) => void (card.title = text)));
    }
    edit(false);
  };
  return (
    <li
      draggable
      onDragStart={() => dragged = id}
      onDragEnd={() => dragged = null}
    >
      {isEdited
        ? (
          <input
            autoFocus
            aria-label="Title"
            defaultValue={title}
            onBlur={(event) => close(event.target.value)}
            onKeyDown={({ key, currentTarget }) =>
              key === "Enter" && close(currentTarget.value)}
          />
        )
        : (
          <button type="button" className="title" onClick={() => edit(true)}>
            {title}
          </button>
        )}
      <button
        type="button"
        aria-label={`Delete ${title}`}
        onClick={() => watch(cards.delete(id))}
      >
        ✕
      </button>
    </li>
  );
}

createRoot(document.getElementById("app")!).render(<Board />);

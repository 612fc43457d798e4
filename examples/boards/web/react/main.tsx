import { memo, useState } from "react";
import { createRoot } from "react-dom/client";
import { useLive, useLiveList } from "@svc/resource-api-client/react";
import {
  add,
  api,
  type Card,
  columns,
  move,
  outbox,
  remove,
  rename,
  type Status,
} from "../board.ts";

/** The card that the user drags. */
let dragged: Card | null = null;

function Board() {
  const { items, status } = useLiveList(api.cards, { orderBy: ["rank"] });
  return (
    <>
      <header>
        <h1>Board in React</h1>
        <State status={status} />
      </header>
      <main>
        {Object.entries(columns).map(([name, title]) => (
          <Column
            key={name}
            status={name as Status}
            title={title}
            all={items}
          />
        ))}
      </main>
      <Refused />
    </>
  );
}

function State({ status }: { status: string }) {
  const { waiting } = useLive(outbox);
  return <p role="status">{status}{waiting > 0 && ` · ${waiting} waiting`}</p>;
}

function Column(
  { status, title, all }: {
    status: Status;
    title: string;
    all: readonly Card[];
  },
) {
  const own = all.filter((card) => card.status === status);
  return (
    <section
      aria-label={title}
      onDragOver={(event) => event.preventDefault()}
      onDrop={() => dragged && move(dragged, status, all)}
    >
      <h2>{title} {own.length}</h2>
      <ul>
        {own.map((card) => <Item key={card.id} card={card} />)}
      </ul>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const value = String(new FormData(form).get("title")).trim();
          if (value !== "") add(value, status, own.at(-1));
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

/** Rendered again only if its card has changed. */
const Item = memo(function Item({ card }: { card: Card }) {
  const [isEdited, edit] = useState(false);
  const close = (value: string) => {
    if (value.trim() !== "") rename(card, value.trim());
    edit(false);
  };
  return (
    <li
      draggable
      className={card._pending ? "pending" : ""}
      onDragStart={() => dragged = card}
      onDragEnd={() => dragged = null}
    >
      {isEdited
        ? (
          <input
            autoFocus
            aria-label="Title"
            defaultValue={card.title}
            onBlur={(event) => close(event.target.value)}
            onKeyDown={({ key, currentTarget }) =>
              key === "Enter" && close(currentTarget.value)}
          />
        )
        : (
          <button type="button" className="title" onClick={() => edit(true)}>
            {card.title}
          </button>
        )}
      <button
        type="button"
        aria-label={`Delete ${card.title}`}
        onClick={() => remove(card)}
      >
        ✕
      </button>
    </li>
  );
});

/** The writes that the service has refused. */
function Refused() {
  const dead = useLive(outbox).jobs.filter(({ state }) => state === "dead");
  return dead.map(({ id, problem }) => (
    <p key={id} className="refused">
      {problem?.message}{" "}
      <button type="button" onClick={() => outbox.revive(id)}>Try again</button>
      <button type="button" onClick={() => outbox.discard(id)}>Discard</button>
    </p>
  ));
}

createRoot(document.getElementById("app")!).render(<Board />);

import { useState } from "preact/hooks";
import { type ResourceDescription, type ServiceFacts, useFacts } from "../service/facts.ts";
import { href } from "./route.ts";

/** The pages beside those of the resources, and the part of the service that each needs. */
export const pages:
  readonly (readonly [path: string, name: string, feature?: keyof ServiceFacts["features"]])[] = [
    ["rights", "Rights"],
    ["filter", "Filter tester"],
    ["streams", "Live streams"],
    ["outbox", "Outbox", "outbox"],
    ["credits", "Credits", "credits"],
    ["budgets", "Budgets", "budgets"],
    ["problems", "Problems"],
    ["audit", "Audit"],
    ["configuration", "Configuration"],
  ];

/** The links to all pages, with a box that searches the resources. */
export function Navigation({ current }: { readonly current: string }) {
  const { resources, features } = useFacts();
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = resources.filter(({ name, title }) =>
    `${name} ${title}`.toLowerCase().includes(wanted)
  );
  return (
    <nav aria-label="Dashboard">
      <PageLink path="" name="Overview" current={current} />
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          if (found[0]) location.hash = href(found[0].place);
        }}
      >
        <label class="unseen" for="search">Search resources</label>
        <input
          id="search"
          type="search"
          placeholder="Resources  /"
          value={search}
          autocomplete="off"
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      </form>
      <ul class="resources" aria-label="Resources">
        {found.map((resource) => (
          <ResourceLink key={resource.path} resource={resource} current={current} />
        ))}
        {found.length === 0 && <li class="quiet">No resource has this name</li>}
      </ul>
      <ul aria-label="Operation">
        {pages.filter(([, , feature]) => feature === undefined || features[feature] !== false)
          .map(([path, name]) => (
            <li key={path}>
              <PageLink path={path} name={name} current={current} />
            </li>
          ))}
      </ul>
    </nav>
  );
}

function ResourceLink({ resource, current }: {
  readonly resource: ResourceDescription;
  readonly current: string;
}) {
  return (
    <li>
      <PageLink path={resource.place} name={resource.title} current={current} />
    </li>
  );
}

function PageLink({ path, name, current }: {
  readonly path: string;
  readonly name: string;
  readonly current: string;
}) {
  return (
    <a href={href(path)} aria-current={path === current ? "page" : undefined}>
      {name}
    </a>
  );
}

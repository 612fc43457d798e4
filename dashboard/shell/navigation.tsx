import { useState } from "preact/hooks";
import { type ResourceDescription, type ServiceFacts, useFacts } from "../service/facts.ts";
import { groupResources, titleInGroup } from "./resource_groups.ts";
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
    ["accounts", "Accounts", "accounts"],
    ["keys", "API keys", "keys"],
    ["requests", "Requests", "requests"],
    ["load", "Load", "requests"],
    ["problems", "Problems", "requests"],
    ["statements", "Slow statements", "statements"],
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
  const groups = groupResources(found);
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
          placeholder={`${resources.length} resources  /`}
          value={search}
          autocomplete="off"
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      </form>
      {groups.map(({ schema, resources }) => {
        const links = resources.map((resource) => (
          <ResourceLink
            key={resource.path}
            {...{ resource, current, isInGroup: groups.length > 1 }}
          />
        ));
        return groups.length === 1
          ? <ul key="" class="resources" aria-label="Resources">{links}</ul>
          : (
            <details
              key={schema}
              open={wanted !== "" || schema === null || resources.length <= openGroup ||
                resources.some(({ place }) => place === current)}
            >
              <summary>
                {schema ?? "default schema"} <span class="quiet">{resources.length}</span>
              </summary>
              <ul class="resources" aria-label={`Resources of ${schema ?? "the default schema"}`}>
                {links}
              </ul>
            </details>
          );
      })}
      {found.length === 0 && <p class="quiet">No resource has this name</p>}
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

/** A group with at most this number of resources is open from the beginning. */
const openGroup = 12;

function ResourceLink({ resource, current, isInGroup }: {
  readonly resource: ResourceDescription;
  readonly isInGroup: boolean;
  readonly current: string;
}) {
  return (
    <li>
      <PageLink
        path={resource.place}
        name={isInGroup ? titleInGroup(resource) : resource.title}
        current={current}
      />
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

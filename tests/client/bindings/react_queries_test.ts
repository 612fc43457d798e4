import { assertEquals, assertMatch } from "@std/assert";
import { Window } from "happy-dom";
import {
  Component,
  createElement,
  type FC,
  memo,
  type ReactNode,
  StrictMode,
  Suspense,
} from "react";
import { renderToString } from "react-dom/server";
import {
  type ClientEnvironment,
  liveList,
  type LiveListState,
  prefetch,
  rsql,
} from "../../../exports/client.ts";
import { useLive, useLiveAggregate, useLiveList } from "../../../src/client/bindings/react.ts";
import type { Post } from "../outbox/outbox_support.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { eventually, type PostsPage, withPostsPage } from "../support/posts_page.ts";

const window = new Window();
// React looks for a browser when it is loaded.
Object.assign(globalThis, { window, document: window.document });
const { createRoot, hydrateRoot } = await import("react-dom/client");
type Container = Parameters<typeof createRoot>[0];

Deno.test.afterAll(() => window.happyDOM.close());

/** Ends what keeps the lists of suspended components open. */
const mounting: (() => void)[] = [];
const fast = fastEnvironment(20);
const environment: ClientEnvironment = {
  ...fast,
  after(ms, end) {
    if (ms !== 10_000) return fast.after(ms, end);
    mounting.push(end);
    return () => {};
  },
};

/** A page of React over a service with some posts. */
function withPage(work: (page: Page) => Promise<void>, rows?: number): Promise<void> {
  return withPostsPage(async (page) => {
    const element = window.document.createElement("div");
    // The element is one of happy-dom, which has what React uses.
    const root = createRoot(element as unknown as Container, { onCaughtError() {} });
    const text = () => element.textContent;
    await work({
      ...page,
      text,
      render: (node) => root.render(node),
      until: (isRight) => eventually(() => isRight(text()), text),
    });
    root.unmount();
    mounting.splice(0).forEach((end) => end());
  }, { environment, ...rows && { rows } });
}

interface Page extends PostsPage {
  text(): string;
  render(node: ReactNode): void;
  until(isRight: (text: string) => boolean): Promise<void>;
}

const titles = ({ items, status }: LiveListState<Post>) =>
  `${status} ${items.map(({ title }) => title)}`;

Deno.test("a query that is a new object at each rendering keeps its list, and has one stream", () =>
  withPage(async ({ api, streams, text, render, until }) => {
    let renders = 0;
    const Posts = ({ max }: { max: number }) => {
      renders++;
      const state = useLiveList(api.posts, { orderBy: ["-id"], filter: rsql`id<=${max}` });
      const { groups } = useLiveAggregate(api.posts, { count: true, filter: `id<=${max}` });
      const counts: readonly number[] = groups.map(({ count }) => count);
      // @ts-expect-error: the resource has no such field
      void (() => useLiveAggregate(api.posts, { groupBy: ["titel"] }));
      const keys = (): readonly string[] =>
        useLiveAggregate(api.posts, { groupBy: ["title"] }).groups.map(({ key }) => key.title);
      return createElement("p", null, titles(state), `${counts} ${typeof keys}`);
    };
    const page = (max: number) => createElement(StrictMode, null, createElement(Posts, { max }));
    render(page(2));
    await until((text) => text.startsWith("live t2,t1") && text.endsWith("2 function"));
    for (let round = 0; round < 20; round++) {
      render(page(2));
      await new Promise((resolve) => setTimeout(resolve));
    }
    assertEquals([streams(), renders > 40, text().startsWith("live t2,t1")], [
      1,
      true,
      true,
    ]);
    render(page(3));
    await until((text) => text.startsWith("live t3,t2,t1"));
  }));

Deno.test("a changed query shows the rows of the previous one until it has its own", () =>
  withPage(async ({ api, render, until }) => {
    const shown: string[] = [];
    const Posts = ({ max, keep }: { max: number; keep: boolean }) => {
      const filter = `id<=${max}`;
      const state = useLiveList(api.posts, { filter, keepPreviousData: keep });
      if (shown.at(-1) !== titles(state)) shown.push(titles(state));
      return createElement("p", null, titles(state));
    };
    render(createElement(Posts, { max: 1, keep: true }));
    await until((text) => text === "live t1");
    render(createElement(Posts, { max: 2, keep: true }));
    await until((text) => text === "live t1,t2");
    render(createElement(Posts, { max: 3, keep: false }));
    await until((text) => text === "live t1,t2,t3");
    assertEquals(shown, [
      ...["connecting ", "live t1", "connecting t1", "live t1,t2"],
      ...["connecting ", "live t1,t2,t3"],
    ]);
  }));

Deno.test("components with a window make it longer together, and keep its rows until then", () =>
  withPage(async ({ api, render, until }) => {
    const shown = new Set<string>();
    let more = () => {};
    const Posts = () => {
      const state = useLiveList(api.posts, { orderBy: ["-id"], limit: 1 });
      more = state.loadMore;
      const text = `${titles(state)} ${state.hasMore}`;
      shown.add(text);
      return createElement("p", null, text);
    };
    render([0, 1].map((key) => createElement(Posts, { key })));
    await until((text) => text === "live t3 truelive t3 true");
    more();
    await until((text) => text === "live t3,t2 truelive t3,t2 true");
    assertEquals([...shown], ["connecting  false", "live t3 true", "live t3,t2 true"]);
  }));

Deno.test("one changed row of 5,000 is rendered alone", () =>
  withPage(async ({ api, render, until }) => {
    const rendered: number[] = [];
    const Row = memo(({ row }: { row: Post }) => {
      rendered.push(row.id);
      return createElement("i", null, row.title);
    });
    const Posts = () => {
      const { items } = useLiveList(api.posts, { orderBy: ["id"] });
      return createElement("p", null, items.map((row) => createElement(Row, { key: row.id, row })));
    };
    render(createElement(Posts));
    await until((text) => text.endsWith("t5000"));
    assertEquals(rendered.length, 5_000);
    await api.posts.update(2_500, { title: "changed" });
    await until((text) => text.includes("changed"));
    assertEquals(rendered.slice(5_000), [2_500]);
  }, 5_000));

Deno.test("fifty lists of a page share a stream, and equal ones a list", () =>
  withPage(async ({ api, service, render, until }) => {
    const One = ({ max }: { max: number }) =>
      createElement("p", null, useLiveList(api.posts, { filter: `id<=${max}` }).status);
    const numbers = Array.from({ length: 70 }, (_, index) => index % 50);
    render(numbers.map((max, key) => createElement(One, { key, max })));
    await until((text) => text === "live".repeat(70));
    const bodies = await Promise.all(service.sent.map((request) => request.json()));
    assertEquals(bodies.map(({ subscriptions }) => subscriptions.length), [50]);
  }));

Deno.test("a list of each rendering looped without a message", () =>
  withPage(async ({ api, render }) => {
    const messages: string[] = [];
    const { error } = console;
    console.error = (message: string) => messages.push(message);
    try {
      const Posts = () =>
        createElement("p", null, useLive(liveList(api.posts, { filter: "id<2" })).status);
      render(createElement(Posts));
      await eventually(() => messages.length > 0, () => "no message");
      assertMatch(`${messages}`, /^useLive received a new list at each rendering.*useLiveList/);
    } finally {
      console.error = error;
    }
  }));

Deno.test("a component is suspended until its first rows, and throws the error of a closed list", () =>
  withPage(async ({ api, render, until, streams }) => {
    const Posts = ({ filter }: { filter: string }) => {
      const state = useLiveList(api.posts, { filter, suspense: true, throwOnError: true });
      return createElement("p", null, titles(state));
    };
    class Boundary extends Component<{ children: ReactNode }> {
      override state: { error: string | null } = { error: null };
      static getDerivedStateFromError = ({ slug }: { slug: string }) => ({ error: slug });
      override render = () => this.state.error ?? this.props.children;
    }
    const page = (filter: string) =>
      createElement(
        Boundary,
        null,
        createElement(Suspense, { fallback: "loading" }, createElement(Posts, { filter })),
      );
    render(page("id<3"));
    await until((text) => text === "loading");
    await until((text) => text === "live t1,t2");
    assertEquals(streams(), 1);
    render(page("nosuch==1"));
    await until((text) => text === "filter-parse-error");
    const asked = streams();
    assertMatch(renderToString(page("id<2")), /loading/);
    assertEquals(streams(), asked, "a server opens no stream");
  }));

for (const [name, useRows] of Object.entries({ useLive: outside, useLiveList: inside })) {
  Deno.test(`a boundary that is hydrated late shows its seed first: ${name}`, () =>
    withPage(async ({ api }) => {
      const seed = await prefetch(api.posts, {});
      const Posts = useRows(api, JSON.parse(JSON.stringify(seed)));
      let hydrate = () => {};
      const isReady = new Promise<void>((resolve) => hydrate = resolve);
      let isDone = false;
      // Suspends in the browser only, as code that is loaded on demand does.
      const Late = ({ isServer }: { isServer: boolean }) => {
        if (!isServer && !isDone) throw isReady;
        return createElement(Posts);
      };
      const page = (isServer: boolean) =>
        createElement("div", null, [
          createElement(Posts, { key: 1 }),
          createElement(Suspense, { key: 2 }, createElement(Late, { isServer })),
        ]);
      const element = window.document.createElement("div");
      element.innerHTML = renderToString(page(true));
      assertEquals(element.textContent, "t1,t2,t3t1,t2,t3");
      const errors: unknown[] = [];
      const until = (isRight: (text: string) => boolean) =>
        eventually(() => isRight(element.textContent), () => element.textContent);
      const onRecoverableError = (error: unknown) => void errors.push(error);
      // The element is one of happy-dom, which has what React uses.
      const root = hydrateRoot(element as unknown as Container, page(false), {
        onRecoverableError,
      });
      await until((text) => text === "t1,t2,t3t1,t2,t3");
      await api.posts.update(1, { title: "later" });
      await until((text) => text.startsWith("later,t2,t3"));
      isDone = true;
      hydrate();
      await until((text) => text === "later,t2,t3later,t2,t3");
      assertEquals(errors, []);
      root.unmount();
    }));
}

type Seed = Awaited<ReturnType<typeof prefetch>>;

function outside(api: Page["api"], seed: Seed): FC {
  const list = liveList(api.posts, { seed });
  return () => createElement("p", null, `${useLive(list).items.map(({ title }) => title)}`);
}

function inside(api: Page["api"], seed: Seed): FC {
  return () => {
    const { items } = useLiveList(api.posts, { seed });
    return createElement("p", null, `${items.map(({ title }) => title)}`);
  };
}

import { Misuse, readCommandWords } from "../command_options.ts";

export type InitCommand = ReturnType<typeof parseInitArguments>;

export const initHelp = `A new project, and its development:
  init [FOLDER]          write a project that runs immediately: tables, rights, a test, a Dockerfile
      --web              with a page: Vite, React and the typed client
      --database URL     the database in its file .env, sqlite:data/app.db unless set`;

export function parseInitArguments(args: readonly string[]) {
  const words = readCommandWords("init", args, {
    web: { type: "boolean" },
    database: { type: "string" },
  });
  const [folder = ".", extra] = words.positionals;
  if (extra !== undefined) throw new Misuse(`init takes one folder: "${extra}" is one too many`);
  if (folder === "") throw new Misuse("init takes a folder, not an empty name");
  const database = words.text("database");
  if (database !== null && !/^[a-z-]{2,}:[^'\n]+$/i.test(database)) {
    throw new Misuse(
      `--database takes a URL without quotes, such as sqlite:PATH or postgres://…, not ${database}`,
    );
  }
  return { kind: "init" as const, folder, web: words.flag("web"), database };
}

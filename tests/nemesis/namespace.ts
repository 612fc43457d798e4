/** A network namespace of Linux, whose links to this machine can be taken down. */

/** A namespace with one link for clients and one for the database. */
export interface Namespace extends AsyncDisposable {
  /** The program with arguments that starts another program in the namespace. */
  readonly startedBy: readonly string[];
  /** The address of the namespace on the link for clients. */
  readonly host: string;
  /** The address of this machine on the link for the database. */
  readonly database: string;
  /** The address of the namespace on the link for the database. */
  readonly address: string;
  /** Loses all packets on the link for the database, or passes them on again. */
  setLink(state: "up" | "down"): Promise<void>;
}

export interface NamespaceNames {
  readonly name: string;
  /** The first three numbers of the addresses of the link for clients, and of that for the database. */
  readonly networks: readonly [clients: string, database: string];
}

/** One name for all processes: a second run finds the namespace in use, and has none. */
const nemesis: NamespaceNames = { name: "nemesis", networks: ["10.213.71", "10.213.72"] };

/** Why no namespace can be made. */
export const missingNamespace: string | null = await whyNoNamespace();

export async function whyNoNamespace(names = nemesis): Promise<string | null> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return "network namespaces need root on Linux";
  try {
    await using made = await openNamespace(names);
    await made.setLink("down");
    return null;
  } catch (error) {
    return `no network namespace: ${error instanceof Error ? error.message : error}`;
  }
}

export async function openNamespace(
  { name, networks: [clients, database] } = nemesis,
): Promise<Namespace> {
  const databaseLink = `${name}-d`;
  await ip("netns", "add", name);
  const inside = ["netns", "exec", name, "ip"];
  try {
    await ip(...inside, "link", "set", "lo", "up");
    for (const [network, link] of [[clients, `${name}-c`], [database, databaseLink]]) {
      await ip("link", "add", `${link}`, "type", "veth", "peer", "name", `${link}i`);
      await ip("link", "set", `${link}i`, "netns", name);
      await ip("addr", "add", `${network}.1/30`, "dev", `${link}`);
      await ip(...inside, "addr", "add", `${network}.2/30`, "dev", `${link}i`);
      await ip("link", "set", `${link}`, "up");
      await ip(...inside, "link", "set", `${link}i`, "up");
    }
  } catch (error) {
    await ip("netns", "delete", name);
    throw error;
  }
  return {
    startedBy: ["ip", "netns", "exec", name],
    host: `${clients}.2`,
    database: `${database}.1`,
    address: `${database}.2`,
    setLink: (state) => ip("link", "set", databaseLink, state),
    async [Symbol.asyncDispose]() {
      // Connections without a process can keep the namespace and its links for minutes.
      for (const link of [`${name}-c`, databaseLink]) await ip("link", "delete", link);
      await ip("netns", "delete", name);
    },
  };
}

async function ip(...args: readonly string[]): Promise<void> {
  const command = new Deno.Command("ip", { args: [...args], stdin: "null", stdout: "null" });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
}

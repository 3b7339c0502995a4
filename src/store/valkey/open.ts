import { type Store, StoreError, StoreOpenError, type StoreOptions } from "../port.ts";
import { isAuthError } from "./fault.ts";
import { LIBRARY } from "./library.ts";
import type { Node } from "./node.ts";
import { NoticeLine } from "./notice-line.ts";
import { Servers } from "./servers.ts";
import { settle } from "./settings.ts";
import { ValkeyStore } from "./store.ts";
import { parseValkeyUrl } from "./url.ts";

const CONNECT_MS = 10_000;

/** Opens the store at a URL, or makes it. */
export async function openValkeyStore(text: string, options: StoreOptions): Promise<Store> {
	const url = parseValkeyUrl(text);
	const servers = new Servers(url);
	const notices = new NoticeLine(servers, url.prefix);
	servers.provide = provide;
	try {
		await connect(servers);
		for (const node of servers.primaries) await provide(node);
		const partitions = await settle(servers, `${url.prefix}settings`, options);
		await notices.open();
		return new ValkeyStore({ servers, notices, prefix: url.prefix, partitions, testClock: options.testClock });
	} catch (error) {
		notices.close();
		servers.close();
		if (error instanceof StoreOpenError) throw error;
		throw new StoreOpenError("store_unavailable", `${url.shown}: ${messageOf(error)}`, {}, error);
	}
}

async function connect(servers: Servers): Promise<void> {
	const { url, nodes } = servers;
	const reached = await Promise.any(nodes.map((node) => reach(node))).catch(() => undefined);
	if (!reached) {
		const [node] = nodes;
		const why = node?.lastError;
		throw new StoreOpenError(
			"store_unavailable",
			`${url.shown}: ${isAuthError(why) ? "the server does not let this user in" : "cannot be reached"}: ${messageOf(why ?? "no answer")}`,
			{},
			why,
		);
	}
	if (url.cluster && !(await servers.refresh())) {
		throw new StoreOpenError("store_unavailable", `${url.shown}: does not tell the slots of its cluster`);
	}
}

async function reach(node: Node): Promise<Node> {
	if (await node.connected(CONNECT_MS)) return node;
	throw new StoreError("not connected", { applied: "no" });
}

async function provide(node: Node): Promise<void> {
	await node.ask(["FUNCTION", "LOAD", "REPLACE", LIBRARY]);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

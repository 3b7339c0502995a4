import { type Store, StoreError, StoreOpenError, type StoreOptions } from "../port.ts";
import { durabilityWarnings } from "./durability.ts";
import { isDenied, wordsOf } from "./fault.ts";
import { provideLibrary } from "./function-library.ts";
import { migrateRecords } from "./migrate.ts";
import type { Node } from "./node.ts";
import { NoticeLine } from "./notice-line.ts";
import { type Patience, realPatience } from "./patience.ts";
import { infoOf } from "./server-info.ts";
import { awaitVersion } from "./server-version.ts";
import { Servers } from "./servers.ts";
import { SettingsKey } from "./settings.ts";
import { ValkeyStore } from "./store.ts";
import { parseValkeyUrl, type ValkeyUrl } from "./url.ts";

/** A cluster that does not yet tell who has which slots is asked again so soon. */
const LOOK_AGAIN_MS = 100;

/**
 * Opens the store at a URL, or makes it. Step by step, so that each is refused by its own name: the servers are reached
 * and new enough; the settings fit; the servers get our functions, which stops programs of an earlier version; records of
 * an earlier format are brought up to date; notices are heard.
 */
export async function openValkeyStore(
	text: string,
	options: StoreOptions,
	patience: Patience = realPatience,
): Promise<Store> {
	const url = parseValkeyUrl(text);
	let servers: Servers | undefined;
	let notices: NoticeLine | undefined;
	try {
		servers = new Servers(url);
		await reachServers(servers, patience);
		await awaitVersion(servers, patience);
		const key = new SettingsKey(servers);
		const settings = await key.takeOrMake(options);
		servers.provide = provideLibrary;
		for (const node of servers.primaries) await provideLibrary(node);
		notices = new NoticeLine(servers, url.prefix);
		const { testClock, format } = options;
		// What a test keeps is not worth a warning.
		const warnings = testClock ? [] : await durabilityWarnings(servers);
		const store = new ValkeyStore({
			servers,
			notices,
			settings: { ...settings, format: format.format },
			testClock,
			warnings,
		});
		if (settings.format < format.format) {
			await migrateRecords(store, servers, settings, format);
			await key.raiseFormat(settings, format);
		}
		await notices.open();
		return store;
	} catch (error) {
		notices?.close();
		servers?.close();
		throw openError(url.shown, error);
	}
}

/** Reaches one server of those named, and through it all others. */
async function reachServers(servers: Servers, patience: Patience): Promise<void> {
	const { url, nodes } = servers;
	const { connectMs } = patience;
	const reached = await Promise.any(nodes.map((node) => reach(node, connectMs))).catch(() => undefined);
	if (!reached)
		throw nodes.map(({ lastError }) => lastError).find(Boolean) ?? new Error(`no answer within ${connectMs} ms`);
	await reached.ask(["PING"]);
	// The driver goes on without the database it could not have, which would be into another store.
	if (url.database > 0) await selectDatabase(reached, url);
	const isNode = (await infoOf(reached)).get("cluster_enabled") === "1";
	if (isNode !== url.cluster) {
		throw new StoreOpenError(
			"store_invalid",
			isNode
				? `${url.shown}: is a node of a cluster; write ?cluster=true behind the URL`
				: `${url.shown}: is no node of a cluster; leave out ?cluster=true`,
		);
	}
	if (url.cluster) await learnSlots(servers, patience);
}

async function selectDatabase(node: Node, { shown, database }: ValkeyUrl): Promise<void> {
	try {
		await node.ask(["SELECT", String(database)]);
	} catch (error) {
		if (isDenied(error) || !/DB index/i.test(wordsOf(error))) throw error;
		throw new StoreOpenError("store_invalid", `${shown}: the server has no database ${database}`, {}, error);
	}
}

/** Nodes with much to do may not answer at once. */
async function learnSlots(servers: Servers, { connectMs, now, pause }: Patience): Promise<void> {
	const deadline = now() + connectMs;
	while (!(await servers.refresh())) {
		if (isDenied(servers.lastError)) throw servers.lastError;
		if (now() >= deadline) {
			throw new Error(`the cluster does not say which node has which slots: ${wordsOf(servers.lastError)}`);
		}
		await pause(LOOK_AGAIN_MS);
	}
}

async function reach(node: Node, ms: number): Promise<Node> {
	if (await node.connected(ms)) return node;
	throw node.lastError ?? new Error("no answer");
}

function openError(shown: string, error: unknown): StoreOpenError {
	if (error instanceof StoreOpenError) return error;
	const why = wordsOf(error);
	if (error instanceof StoreError && error.code === "store_too_new") {
		return new StoreOpenError("store_too_new", `${shown}: ${why}`, { field: "library" }, error);
	}
	const told = isDenied(error) ? `the server denies access to this user or to this command: ${why}` : why;
	return new StoreOpenError("store_unavailable", `${shown}: ${told}`, {}, error);
}

import type { CheckUp } from "../port.ts";
import { durabilityOf, durabilityWarnings } from "./durability.ts";
import { LIBRARY_HASH, loadedLibrary } from "./function-library.ts";
import { LIBRARY_VERSION } from "./function-names.ts";
import type { Node } from "./node.ts";
import { infoOf, type ServerInfo } from "./server-info.ts";
import { versionIn } from "./server-version.ts";
import type { Servers } from "./servers.ts";

/** Beyond this share of what it may use, a server is about to refuse writes. */
const FULL = 0.9;

/** What the servers of a store say of themselves, for `doctor`. */
export async function checkUp(servers: Servers, format: number): Promise<CheckUp> {
	const { primaries, url } = servers;
	const infos = await Promise.all(primaries.map(infoOf));
	const libraries = await Promise.all(primaries.map(libraryOf));
	const durability = await Promise.all(primaries.map(durabilityOf));
	return {
		facts: {
			server: listed(infos.map(versionText)),
			mode: url.cluster ? "cluster" : "standalone",
			primaries: primaries.map(({ address }) => address).join(", "),
			replicas: sum(infos, "connected_slaves"),
			format,
			library: listed(libraries.map(({ told }) => told)),
			appendonly: listed(durability.map(({ appendonly }) => appendonly)),
			appendfsync: listed(durability.map(({ appendfsync }) => appendfsync)),
			"maxmemory-policy": listed(durability.map(({ eviction }) => eviction)),
			"memory used": sum(infos, "used_memory"),
		},
		bytes: sum(infos, "used_memory") - sum(infos, "used_memory_startup"),
		problems: [
			...(await durabilityWarnings(servers)),
			...primaries.flatMap(({ address }, n) => memoryProblems(address, infos[n] as ServerInfo)),
			...libraries.flatMap(({ problem }) => problem ?? []),
			...(url.cluster ? await clusterProblems(primaries) : []),
		],
	};
}

async function libraryOf(node: Node): Promise<{ told: string; problem?: string }> {
	const loaded = await loadedLibrary(node);
	if (!loaded) return { told: "none", problem: `${node.address}: the function library is missing` };
	const told = `version ${loaded.version} (${loaded.hash})`;
	if (loaded.version === LIBRARY_VERSION && loaded.hash === LIBRARY_HASH) return { told };
	return { told, problem: `${node.address}: the function library is not this program's version ${LIBRARY_VERSION}` };
}

function versionText(info: ServerInfo): string {
	const version = versionIn(info);
	return version ? `${version.product} ${version.text}` : "unknown";
}

function memoryProblems(address: string, info: ServerInfo): string[] {
	const most = Number(info.get("maxmemory") ?? 0);
	const used = Number(info.get("used_memory") ?? 0);
	if (most === 0 || used < FULL * most) return [];
	return [`${address}: ${used} of ${most} bytes of memory are used: soon nothing more can be written`];
}

async function clusterProblems(primaries: readonly Node[]): Promise<string[]> {
	const problems: string[] = [];
	for (const node of primaries) {
		const info = String(await node.ask(["CLUSTER", "INFO"]));
		const state = /cluster_state:(\w+)/.exec(info)?.[1];
		if (state !== "ok") problems.push(`${node.address}: says that the cluster is ${state ?? "unknown"}`);
	}
	return problems;
}

const sum = (infos: readonly ServerInfo[], field: string): number =>
	infos.reduce((total, info) => total + Number(info.get(field) ?? 0), 0);

/** What all say, once; or what each says. */
const listed = (values: readonly string[]): string => [...new Set(values)].join(", ");

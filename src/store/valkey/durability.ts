import type { Node } from "./node.ts";
import { configOf, infoOf } from "./server-info.ts";
import type { Servers } from "./servers.ts";

/** What decides whether a server keeps what it has accepted. */
export interface Durability {
	appendonly: string;
	appendfsync: string;
	eviction: string;
}

export async function durabilityOf(node: Node): Promise<Durability> {
	const info = await infoOf(node);
	const config = await configOf(node, ["appendfsync", "maxmemory-policy"]);
	const aof = info.get("aof_enabled");
	return {
		appendonly: aof === undefined ? "unknown" : aof === "1" ? "yes" : "no",
		appendfsync: config.get("appendfsync") ?? "unknown",
		eviction: info.get("maxmemory_policy") ?? config.get("maxmemory-policy") ?? "unknown",
	};
}

/** What may be lost the way the servers are set up, in words; one line for all of them that are alike. */
export async function durabilityWarnings(servers: Servers): Promise<string[]> {
	const { primaries } = servers;
	const found = new Map<string, string[]>();
	for (const node of primaries) {
		for (const warning of warningsAbout(await durabilityOf(node))) {
			found.set(warning, [...(found.get(warning) ?? []), node.address]);
		}
	}
	return [...found].map(([warning, addresses]) =>
		addresses.length === primaries.length ? warning : `${warning} (${addresses.join(", ")})`,
	);
}

function warningsAbout({ appendonly, appendfsync, eviction }: Durability): string[] {
	const warnings: string[] = [];
	if (appendonly === "no") {
		warnings.push(
			"appendonly is no: what was accepted is in memory only and may be lost when the server stops; set appendonly yes",
		);
	} else if (appendfsync !== "always" && appendfsync !== "unknown") {
		warnings.push(
			`appendfsync is ${appendfsync}: a crash of the machine may lose the last second of what was accepted; set appendfsync always`,
		);
	}
	if (eviction !== "noeviction" && eviction !== "unknown") {
		warnings.push(
			`maxmemory-policy is ${eviction}: the server may throw records away when memory runs short; set maxmemory-policy noeviction`,
		);
	}
	return warnings;
}

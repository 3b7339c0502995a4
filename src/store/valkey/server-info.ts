import type { Node } from "./node.ts";

/** What a server tells of itself, by the names it uses. */
export type ServerInfo = ReadonlyMap<string, string>;

export async function infoOf(node: Node): Promise<ServerInfo> {
	return parseInfo(String(await node.ask(["INFO"])));
}

export function parseInfo(text: string): ServerInfo {
	const fields = new Map<string, string>();
	for (const line of text.split("\r\n")) {
		const colon = line.indexOf(":");
		if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
	}
	return fields;
}

/** Settings of a server; those it does not tell, as managed ones may not, are left out. */
export async function configOf(node: Node, names: readonly string[]): Promise<ServerInfo> {
	try {
		const flat = (await node.ask(["CONFIG", "GET", ...names])) as string[];
		return new Map(flat.flatMap((name, n) => (n % 2 === 0 ? [[name, flat[n + 1] ?? ""] as const] : [])));
	} catch {
		return new Map();
	}
}

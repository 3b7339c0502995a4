/**
 * Where an event belongs that was stored before events had logs and groups: its body said so. Bodies of later events say
 * neither again, and those of earlier ones may stay as they are.
 */
export function placeOfEarlierEvent(body: string): { log: string; group?: string } {
	try {
		const { namespace, flowId } = JSON.parse(body) as { namespace?: unknown; flowId?: unknown };
		const log = typeof namespace === "string" ? namespace : "default";
		return typeof flowId === "string" ? { log, group: flowId } : { log };
	} catch {
		return { log: "default" };
	}
}

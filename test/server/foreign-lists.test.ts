import { expect, test } from "vitest";
import { entry, type Reply, Stand, tokenOf } from "./stand.ts";

/** Together more than one call looks at: a list of so much goes on behind a cursor. */
const MANY = 300;
const tags = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`tag${n}`, "x".repeat(250)]));

const ada = tokenOf("ada");
const bob = tokenOf("bob");

async function openStand(): Promise<{ stand: Stand; flow: string; parent: string }> {
	const tokens = [entry("ada", "admin", "a"), entry("bob", "admin", "b")];
	const stand = await Stand.open({ tokens });
	const nodes = Array.from({ length: MANY }, (_, n) => ({ key: `n${n}`, kind: "member", tags }));
	const flow = (await stand.call("POST", "/v1/flows", { token: bob, body: { nodes } })).json.id;
	const parent = (await stand.call("POST", "/v1/executions", { token: bob, body: { kind: "parent" } })).json.id;
	const claim = { workerId: "w", instanceId: "i", lanes: ["default"], kinds: ["parent"] };
	const [claimed] = (await stand.call("POST", "/v1/claims", { token: bob, body: claim })).json.executions;
	const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
	for (let from = 0; from < MANY; from += 50) {
		const items = nodes.slice(from, from + 50);
		await stand.call("POST", `/v1/executions/${parent}/children`, { token: bob, body: { fence, items } });
	}
	return { stand, flow, parent };
}

const nobody = (id: string) => id.replace(/_[0-9a-f]{32}_/, `_${"0123456789ab7def".repeat(2)}_`);
const said = ({ status, text }: Reply) => ({ status, text });

test("a list by a flow or a parent of another tenant does not tell that there is one", async () => {
	const { stand, flow, parent } = await openStand();
	for (const [name, id] of [
		["flowId", flow],
		["parentId", parent],
	] as const) {
		const listed = (token: string, of: string, more = "") =>
			stand.call("GET", `/v1/executions?${name}=${of}${more}`, { token });
		expect((await listed(bob, id)).json).toMatchObject({ nextCursor: expect.any(String) });
		for (const more of ["", "&limit=1000", "&limit=1", "&state=open", "&kind=other", "&namespace=a"])
			expect([more, said(await listed(ada, id, more))]).toEqual([more, said(await listed(ada, nobody(id), more))]);
		const bulk = (of: string) =>
			stand.call("POST", "/v1/executions/bulk", { token: ada, body: { filter: { [name]: of }, action: "cancel" } });
		expect(said(await bulk(id))).toEqual(said(await bulk(nobody(id))));
	}
});

test("a cursor that another tenant was given opens nothing, and does not tell what it is of", async () => {
	const { stand, flow, parent } = await openStand();
	const cursors = async (path: string): Promise<[string, string]> => {
		const { json } = await stand.call("GET", path, { token: bob });
		return [path, json.nextCursor];
	};
	for (const [path, cursor] of [
		await cursors(`/v1/executions/${parent}/events?limit=1`),
		await cursors(`/v1/flows/${flow}/events?limit=1`),
		await cursors(`/v1/executions?flowId=${flow}`),
		await cursors(`/v1/executions?parentId=${parent}`),
	]) {
		const asked = (of: string) =>
			stand.call("GET", `${of}${of.includes("?") ? "&" : "?"}cursor=${cursor}`, { token: ada });
		const answer = await asked(path);
		const expected = await asked(nobody(path));
		expect([path, answer.status]).toEqual([path, expected.status]);
		expect(answer.text.replaceAll(flow, nobody(flow)).replaceAll(parent, nobody(parent))).toBe(expected.text);
	}
});

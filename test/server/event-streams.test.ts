import { expect, test } from "vitest";
import { SseReader, type StreamEvent } from "../../src/client/sse-reader.ts";
import { Stand, until } from "./stand.ts";

/** Reads a stream until told to stop. */
function listen(stand: Stand, path: string, headers: Record<string, string> = {}) {
	const controller = new AbortController();
	const events: StreamEvent[] = [];
	let text = "";
	const reader = new SseReader((event) => events.push(event));
	const ended = (async () => {
		const response = await fetch(stand.server.address + path, {
			headers: { accept: "text/event-stream", ...headers },
			signal: controller.signal,
		});
		expect(response.headers.get("content-type")).toContain("text/event-stream");
		for await (const chunk of response.body ?? []) {
			text += Buffer.from(chunk).toString();
			reader.push(Buffer.from(chunk));
		}
	})().catch((error: unknown) => {
		if (!controller.signal.aborted) throw error;
	});
	return { events, text: () => text, ended, stop: () => controller.abort() };
}

const types = (events: StreamEvent[]): string[] => events.map(({ type }) => type);

test("a stream tells the history so far and then what happens, each with its cursor as id", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const stream = listen(stand, `/v1/executions/${id}/events`);
	await until(() => stream.events.length === 2);
	await stand.backend.leases.complete(id, { fence });
	await stream.ended;
	expect(types(stream.events)).toEqual(["created", "claimed", "completed", "end"]);
	const { nextCursor } = await stand.backend.executions.events(id);
	expect(stream.events.at(-2)?.id).toBe(nextCursor);
	expect(JSON.parse(stream.events[0]?.data ?? "")).toMatchObject({ seq: 1, executionId: id });
	expect(stream.events.at(-1)).toEqual({ type: "end", data: JSON.stringify({ executionId: id }), id: undefined });
});

test("a stream tells how far the work is, without an id, and never again", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const first = listen(stand, `/v1/executions/${id}/events`);
	await until(() => first.events.length === 2);
	await stand.backend.leases.progress(id, { fence, percent: 40, message: "reading" });
	await until(() => first.events.length === 3);
	const [, , told] = first.events;
	expect(told).toMatchObject({ type: "progress", id: undefined });
	expect(JSON.parse(told?.data ?? "")).toEqual({
		executionId: id,
		percent: 40,
		message: "reading",
		at: expect.any(Number),
	});
	first.stop();
	const again = listen(stand, `/v1/executions/${id}/events`);
	await until(() => again.events.length === 2);
	await stand.backend.leases.complete(id, { fence });
	await again.ended;
	expect(types(again.events)).toEqual(["created", "claimed", "completed", "end"]);
});

test("a stream of a flow ends with it, at once for a reader that has seen all, and goes on when it is reopened", async () => {
	const stand = await Stand.open();
	const { id, nodes } = await stand.backend.flows.create({ nodes: [{ key: "a", kind: "a" }] });
	const stream = listen(stand, `/v1/flows/${id}/events`);
	await until(() => stream.events.length > 0);
	await stand.backend.executions.cancel(nodes["a"] ?? "");
	await stream.ended;
	expect(types(stream.events)).toContain("flow_ended");
	expect(stream.events.at(-1)).toEqual({ type: "end", data: JSON.stringify({ flowId: id }), id: undefined });
	const lastId = stream.events.findLast((event) => event.id !== undefined)?.id ?? "";
	const nothing = listen(stand, `/v1/flows/${id}/events`, { "last-event-id": lastId });
	await nothing.ended;
	expect(types(nothing.events)).toEqual(["end"]);
	await stand.backend.executions.replay(nodes["a"] ?? "");
	const again = listen(stand, `/v1/flows/${id}/events`, { "last-event-id": lastId });
	await until(() => types(again.events).includes("flow_reopened"));
	await stand.backend.executions.cancel(nodes["a"] ?? "");
	await again.ended;
	expect(types(again.events).slice(-2)).toEqual(["flow_ended", "end"]);
});

test("a reader that comes back goes on behind the last id it saw", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const first = listen(stand, `/v1/executions/${id}/events`);
	await until(() => first.events.length === 2);
	first.stop();
	await stand.backend.leases.complete(id, { fence });
	const again = listen(stand, `/v1/executions/${id}/events`, { "last-event-id": first.events[0]?.id ?? "" });
	await again.ended;
	expect(types(again.events)).toEqual(["claimed", "completed", "end"]);
});

test("a stream that cannot begin is refused with a status", async () => {
	const stand = await Stand.open();
	const headers = { accept: "text/event-stream" };
	const unknown = await stand.call("GET", `/v1/executions/ex_${"0".repeat(32)}_0/events`, { headers });
	expect(unknown).toMatchObject({ status: 404, json: { error: { code: "execution_not_found" } } });
	const { id } = await stand.held();
	const bad = await stand.call("GET", `/v1/executions/${id}/events`, { headers: { ...headers, "last-event-id": "x" } });
	expect(bad).toMatchObject({ status: 400, json: { error: { code: "invalid_input" } } });
});

test("a stream of a flow that is deleted ends and says so", async () => {
	const stand = await Stand.open();
	const { id } = await stand.backend.flows.create({ nodes: [], sealed: false });
	const stream = listen(stand, `/v1/flows/${id}/events`);
	await until(() => stream.events.length > 0);
	await stand.backend.flows.delete(id);
	await stream.ended;
	expect(stream.events.at(-1)).toMatchObject({ type: "close" });
	expect(JSON.parse(stream.events.at(-1)?.data ?? "")).toMatchObject({ code: "flow_not_found" });
});

test("silence is broken by comments", async () => {
	const stand = await Stand.open({ heartbeatMs: 5 });
	const stream = listen(stand, "/v1/workers/w-1/notices");
	await until(() => stream.text().split(": heartbeat").length > 3);
	expect(stream.events).toEqual([]);
	stream.stop();
});

test("notices come as events of their type", async () => {
	const stand = await Stand.open();
	const { id } = await stand.held();
	const stream = listen(stand, "/v1/workers/w-1/notices");
	await until(() => stream.text().includes(": open"));
	await stand.backend.executions.cancel(id, { reason: "enough" });
	await until(() => stream.events.length > 0);
	expect(stream.events[0]?.type).toBe("cancel_requested");
	expect(JSON.parse(stream.events[0]?.data ?? "")).toMatchObject({ executionId: id, reason: "enough" });
	stream.stop();
});

test("a namespace can be followed as a stream, and again from the last id", async () => {
	const stand = await Stand.open();
	const first = listen(stand, "/v1/events?namespace=a");
	await until(() => first.text().includes(": open"));
	await stand.backend.executions.create({ kind: "x", namespace: "b" });
	await stand.backend.executions.create({ kind: "job", namespace: "a" });
	await until(() => first.events.length === 1);
	first.stop();
	await stand.backend.executions.create({ kind: "job", namespace: "a" });
	const again = listen(stand, "/v1/events?namespace=a", { "last-event-id": first.events[0]?.id ?? "" });
	await until(() => again.events.length === 1);
	expect(again.events[0]?.data).not.toBe(first.events[0]?.data);
	again.stop();
});

test("following over HTTP and in process give the same, and end with the execution", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const gather = async (ff: Pick<ReturnType<Stand["connect"]>, "follow">) => {
		const found: unknown[] = [];
		for await (const followed of ff.follow(id)) {
			found.push(followed);
			if (followed.event.type === "claimed") await stand.backend.leases.complete(id, { fence });
		}
		return found;
	};
	const remote = await gather(stand.connect());
	const local = await gather({ follow: (each, options) => stand.backend.executions.follow(each, options) });
	expect(remote).toHaveLength(3);
	expect(remote).toEqual(local);
});

test("a reader of a namespace's events from now on that is cut off before the first misses nothing", async () => {
	const stand = await Stand.open();
	await stand.held();
	const first = listen(stand, "/v1/events?cursor=end");
	await until(() => first.text().includes("\n\n"));
	const [, lastEventId] = /^: open\nid: (.+)\n\n$/.exec(first.text()) ?? [];
	first.stop();
	const { id } = await stand.backend.executions.create({ kind: "job" });
	const again = listen(stand, "/v1/events?cursor=end", lastEventId ? { "last-event-id": lastEventId } : {});
	await until(() => again.text() !== "");
	await stand.backend.executions.cancel(id);
	await until(() => types(again.events).includes("cancelled"));
	expect(types(again.events)).toEqual(["created", "cancelled"]);
	again.stop();
});

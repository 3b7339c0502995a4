import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import type { Stand } from "./stand.ts";

/**
 * Stands between client and server: the first answer to every call of a path is lost after the call was made, and after
 * what somebody else does then.
 */
export async function losingFirstAnswers(
	stand: Stand,
	meanwhile: (call: string) => Promise<unknown> = async () => {},
): Promise<{ ff: FlowFabric; sent: string[] }> {
	const sent: string[] = [];
	const proxy = createServer(async (request, response) => {
		const chunks: Uint8Array[] = [];
		for await (const chunk of request) chunks.push(chunk);
		const call = `${request.method} ${request.url}`;
		const isFirst = !sent.includes(call);
		sent.push(call);
		const answer = await fetch(stand.server.address + request.url, {
			method: request.method ?? "GET",
			headers: { "content-type": "application/json" },
			...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : undefined),
		});
		const body = await answer.text();
		if (isFirst) {
			await meanwhile(call);
			request.socket.destroy();
		} else response.writeHead(answer.status, { "content-type": "application/json" }).end(body);
	});
	await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
	const ff = FlowFabric.connect(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
	onTestFinished(async () => {
		await ff.close();
		proxy.closeAllConnections();
		proxy.close();
	});
	return { ff, sent };
}

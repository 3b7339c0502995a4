import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";

/** Pages under `/docs` to read the description of the API and to try it. */
export async function serveDocs(app: FastifyInstance, document: object): Promise<void> {
	await app.register(swagger, { mode: "static", specification: { document: document as never } });
	await app.register(swaggerUi, {
		routePrefix: "/docs",
		staticCSP: true,
		uiConfig: { validatorUrl: null },
		// There is one description to look at: no bar to choose another, and nobody else's name on it.
		theme: {
			title: "FlowFabric API",
			css: [{ filename: "theme.css", content: ".swagger-ui .topbar { display: none }" }],
		},
		// Not upgraded: on plain HTTP from another machine the page would ask for scripts nobody serves.
		transformStaticCSP: (header) =>
			header
				.replace("frame-ancestors 'self'", "frame-ancestors 'none'")
				.replace(" validator.swagger.io", "")
				.replace(" upgrade-insecure-requests", ""),
	});
}

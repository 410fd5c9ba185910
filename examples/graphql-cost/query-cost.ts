// The most that a GraphQL query may read: docs/how-to/real-cost.md says more.

import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  GraphQLNamedType,
  GraphQLSchema,
  SelectionSetNode,
} from "graphql";
import {
  GraphQLError,
  getArgumentValues,
  getNamedType,
  getNullableType,
  getOperationAST,
  getVariableValues,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
} from "graphql";

type Type = GraphQLNamedType | null | undefined;

/** No list of a query may have more items. */
const LONGEST = 100;

/** Costs beyond this are all alike. */
const MOST = 1_000_000_000;

/**
 * The number of objects that a query can read at most. A list has as many as its argument `first` says. The document must be
 * valid. Throws a `GraphQLError` for an argument that is not.
 */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
  operationName: string | undefined,
): number {
  const operation = getOperationAST(document, operationName);
  if (!operation) throw new GraphQLError("the document has no such operation");
  // With the defaults that the operation has for them.
  const given = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  if (given.errors !== undefined) throw given.errors[0];

  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  }
  /** A fragment is read once, however often it is spread: spreads of spreads would take exponential time. */
  const known = new Map<string, number>();

  function ofSet({ selections }: SelectionSetNode, parent: Type): number {
    let cost = 0;
    for (const node of selections) {
      if (node.kind === Kind.FIELD) cost += ofField(node, parent);
      else if (node.kind === Kind.FRAGMENT_SPREAD) cost += ofFragment(node.name.value);
      else {
        const on = node.typeCondition?.name.value;
        cost += ofSet(node.selectionSet, on === undefined ? parent : schema.getType(on));
      }
    }
    return Math.min(cost, MOST);
  }

  function ofFragment(name: string): number {
    const fragment = fragments.get(name);
    if (fragment === undefined) return 0;
    const type = schema.getType(fragment.typeCondition.name.value);
    const cost = known.get(name) ?? ofSet(fragment.selectionSet, type);
    known.set(name, cost);
    return cost;
  }

  /** Scalars are read with their object, and cost nothing. */
  function ofField(node: FieldNode, parent: Type): number {
    if (node.selectionSet === undefined) return 0;
    const fields = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields() : {};
    const field = fields[node.name.value];
    if (field === undefined) return 0;
    const inside = ofSet(node.selectionSet, getNamedType(field.type));
    if (!isListType(getNullableType(field.type))) return 1 + inside;
    const { first } = getArgumentValues(field, node, given.coerced);
    if (typeof first !== "number" || first < 0 || first > LONGEST) {
      throw new GraphQLError(`first must be a number from 0 to ${LONGEST}`, { nodes: node });
    }
    return Math.min(first * (1 + inside), MOST);
  }

  return ofSet(operation.selectionSet, schema.getRootType(operation.operation));
}

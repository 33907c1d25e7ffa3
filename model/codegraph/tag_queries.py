"""Tree-sitter queries that find the definitions of each language.

Captures:

- `function`: a method when its innermost enclosing definition is a class or an `impl`
- `method`, and `class` for everything that names a type
- `alias`: another name of a type defined inside it
- `declaration`: a function without body; ignored inside another function
- `name`, and `scope` for a name to put before it
- `impl` and `namespace`: no definitions, but their names enclose others
- `outer`: widens the next definition inside it

Python has no query; `definition_spans` searches its keywords. A capture that starts with `_` serves the query only.
"""

from typing import Final

_FUNCTION: Final = "[(arrow_function) (function_expression) (generator_function)]"
_KEY: Final = """[(property_identifier) @name (private_property_identifier) @name (number) @name
  (computed_property_name) @name (string (string_fragment) @name)]"""

_SCRIPT: Final = f"""
(class name: (_) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: {_KEY}) @function
(variable_declarator name: (identifier) @name value: {_FUNCTION}) @function
(variable_declarator name: (identifier) @name value: (class !name)) @class
(variable_declarator name: (identifier) @name value: (class name: (_) @_same)
  (#not-eq? @name @_same)) @alias
(assignment_expression left: (identifier) @name right: {_FUNCTION}) @function
(assignment_expression left: (identifier) @name right: (class !name)) @class
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: {_FUNCTION}) @function
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: (class !name)) @class
(assignment_expression left: (member_expression
  object: (member_expression object: (identifier) @scope property: (property_identifier) @_prototype)
  property: (property_identifier) @name) right: {_FUNCTION}
  (#eq? @_prototype "prototype")) @method
(pair key: {_KEY} value: {_FUNCTION}) @function
(pair key: {_KEY} value: (class !name)) @class
(export_statement) @outer
(lexical_declaration) @outer
(variable_declaration) @outer
"""

JAVASCRIPT: Final = f"""{_SCRIPT}
(class_declaration name: (identifier) @name) @class
(field_definition property: {_KEY} value: {_FUNCTION}) @function
(field_definition property: {_KEY} value: (class !name)) @class
"""

TYPESCRIPT: Final = f"""{_SCRIPT}
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(type_alias_declaration name: (type_identifier) @name) @class
(internal_module name: [(identifier) (nested_identifier)] @name) @namespace
(module name: [(identifier) @name (nested_identifier) @name (string (string_fragment) @name)]) @namespace
(function_signature name: (identifier) @name) @function
(method_signature name: {_KEY}) @function
(abstract_method_signature name: {_KEY}) @function
(public_field_definition name: {_KEY} value: {_FUNCTION}) @function
(public_field_definition name: {_KEY} value: (class !name)) @class
(ambient_declaration) @outer
"""

JAVA: Final = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(annotation_type_declaration name: (identifier) @name) @class
(annotation_type_element_declaration name: (identifier) @name) @method
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
"""

_RECEIVER: Final = """[(type_identifier) @scope (generic_type type: (type_identifier) @scope)
  (pointer_type [(type_identifier) @scope (generic_type type: (type_identifier) @scope)])]"""

GO: Final = f"""
(type_spec name: (_) @name) @class
(type_alias name: (_) @name) @class
((type_declaration) @outer (#not-match? @outer "^type *[(]"))
(method_elem name: (field_identifier) @name) @method
(function_declaration name: (identifier) @name) @function
(var_spec . name: (identifier) @name . value: (expression_list . (func_literal) .)) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: {_RECEIVER}))
  name: (field_identifier) @name) @method
(method_declaration name: (field_identifier) @name) @method
"""

_NAMED_TYPE: Final = """[(type_identifier) @name (primitive_type) @name (scoped_type_identifier name: (_) @name)
  (generic_type type: [(type_identifier) @name (scoped_type_identifier name: (_) @name)])]"""

RUST: Final = f"""
(struct_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(trait_item name: (type_identifier) @name) @class
(type_item name: (type_identifier) @name) @class
(impl_item type: {_NAMED_TYPE}) @impl
(impl_item type: [(reference_type type: {_NAMED_TYPE}) (pointer_type type: {_NAMED_TYPE})
  (dynamic_type trait: {_NAMED_TYPE})]) @impl
(impl_item) @impl
(mod_item name: (identifier) @name) @namespace
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(macro_definition name: (identifier) @name) @function
"""


def _build_declarators(name: str) -> str:
    """Build the patterns of a function declarator that returns a value or up to three levels of pointers."""
    patterns = [f"(function_declarator declarator: {name})"]
    for _ in range(3):
        patterns.append(f"(pointer_declarator declarator: {patterns[-1]})")
    return " ".join(patterns)


_PLAIN: Final = "(identifier) @name (parenthesized_declarator . (identifier) @name .)"
"""A name in parentheses prevents the expansion of a macro with the same name."""
_STRUCTURE: Final = "(struct_specifier {0}) (union_specifier {0}) (enum_specifier {0})"
_NEW_NAME: Final = (
    "declarator: [(type_identifier) @name (pointer_declarator (type_identifier) @name)]"
)

_C_FAMILY: Final = f"""
(type_definition type: [{_STRUCTURE.format("!name body: (_)")}] {_NEW_NAME}) @class
(type_definition type: [{_STRUCTURE.format("name: (_) @_same body: (_)")}] {_NEW_NAME}
  (#not-eq? @name @_same)) @alias
(preproc_function_def name: (identifier) @name) @function
"""

C: Final = f"""{_C_FAMILY}
[{_STRUCTURE.format("name: (type_identifier) @name body: (_)")}] @class
(function_definition declarator: [{_build_declarators(f"[{_PLAIN}]")}]) @function
(declaration declarator: [{_build_declarators(f"[{_PLAIN}]")}]) @declaration
"""


def _add_references(name: str) -> str:
    reference = f"(reference_declarator (function_declarator declarator: {name}))"
    return f"{_build_declarators(name)} {reference}"


_WITHIN: Final = _add_references(
    f"[{_PLAIN} (template_function name: (_) @name) (field_identifier) @name"
    " (destructor_name) @name (operator_name) @name]"
)
_OUTSIDE: Final = _add_references("(qualified_identifier) @name")
_CPP_NAME: Final = """name: [(type_identifier) @name (template_type name: (_) @name) (qualified_identifier) @name]
  body: (_)"""

CPP: Final = f"""{_C_FAMILY}
[(class_specifier {_CPP_NAME}) {_STRUCTURE.format(_CPP_NAME)}] @class
(alias_declaration name: (type_identifier) @name) @class
(namespace_definition name: (_) @name) @namespace
(template_declaration) @outer
(function_definition declarator: [(operator_cast) @name {_WITHIN}]) @function
(function_definition declarator: [(qualified_identifier) @name {_OUTSIDE}]) @method
(declaration declarator: [(operator_cast) @name {_WITHIN}]) @declaration
(field_declaration declarator: [{_WITHIN}]) @declaration
"""

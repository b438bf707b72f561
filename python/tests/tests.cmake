# The tests of the package, in the environment whose Python built it.
set(environment
  "PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR}"
  "ELLICE_CLI=$<$<TARGET_EXISTS:ellice_cli>:$<TARGET_FILE:ellice_cli>>"
  "PYTHONDONTWRITEBYTECODE=1")
foreach(name IN ITEMS tables odd_frames explaining stream answers models importers importers_rows sklearn folding scorecards estimator dice ellice interruption
    refused_plans messages documents typing)
  add_test(NAME python.${name}
    COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py)
  set_tests_properties(python.${name} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 300)
endforeach()
